import pytest

from waypost.corefile.values import format_duration, parse_bool, parse_duration, parse_int, parse_uint


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("-0", 0),
        ("0s", 0),
        ("5s", 5),
        ("+5s", 5),
        ("-1.5h", -5400),
        ("1h2m3.5s", 3723.5),
        ("3.5s1h", 3603.5),
        ("300ms", 0.3),
        ("1us", 1e-6),
        ("1\u00b5s", 1e-6),
        ("1\u03bcs", 1e-6),
        ("7ns", 7e-9),
        (".5m", 30),
        ("5.s", 5),
        ("0.100000000000000000000000s", 0.1),
        ("0.5" + "0" * 5000 + "s", 0.5),
        ("000000000000000000000000000005s", 5),
        ("2562047h47m16.854775807s", 9223372036.854775807),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 'time: invalid duration ""'),
        ("-", 'time: invalid duration "-"'),
        ("x", 'time: invalid duration "x"'),
        (".s", 'time: invalid duration ".s"'),
        ("--5s", 'time: invalid duration "--5s"'),
        ("\u0665s", 'time: invalid duration "\\xd9\\xa5s"'),
        ("5", 'time: missing unit in duration "5"'),
        ("-30", 'time: missing unit in duration "-30"'),
        ("1h30", 'time: missing unit in duration "1h30"'),
        ("1.2.3s", 'time: missing unit in duration "1.2.3s"'),
        ("5x", 'time: unknown unit "x" in duration "5x"'),
        ("5 s", 'time: unknown unit " s" in duration "5 s"'),
        ("1d", 'time: unknown unit "d" in duration "1d"'),
        ("1h-5m", 'time: unknown unit "h-" in duration "1h-5m"'),
        ('5"\\', 'time: unknown unit "\\"\\\\" in duration "5\\"\\\\"'),
        ("3000000h", 'time: invalid duration "3000000h"'),
        ("9" * 5000 + "s", f'time: invalid duration "{"9" * 5000}s"'),
        ("2562047h47m16.854775808s", 'time: invalid duration "2562047h47m16.854775808s"'),
    ],
)
def test_durations_refused(text: str, expected: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_duration(text)
    assert str(caught.value) == expected


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (-1e-12, "0s"),
        (300, "5m0s"),
        (1.5, "1.5s"),
        (0.25, "250ms"),
        (0.0015, "1.5ms"),
        (2e-6, "2\u00b5s"),
        (3e-9, "3ns"),
        (3600, "1h0m0s"),
        (5400.05, "1h30m0.05s"),
        (90000, "25h0m0s"),
        (-61, "-1m1s"),
        (59.999999999, "59.999999999s"),
        (0.9999999999, "1s"),
    ],
)
def test_format_duration(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@pytest.mark.parametrize(
    ("text", "value"),
    [("0", 0), ("+7", 7), ("-0010", -10), ("9223372036854775807", 2**63 - 1), ("-9223372036854775808", -(2**63))],
)
def test_int(text: str, value: int) -> None:
    assert parse_int(text) == value


@pytest.mark.parametrize("text", ["", "x", "1_0", " 1", "1 ", "--1", "1.0", "0x1", "\u0661", "}", 'a"b', "1\n"])
def test_int_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^strconv.Atoi: parsing .*: invalid syntax$"):
        parse_int(text)


@pytest.mark.parametrize("text", ["9223372036854775808", "-9223372036854775809", "1" * 5000])
def test_int_out_of_range(text: str) -> None:
    with pytest.raises(ValueError, match=f'^strconv.Atoi: parsing "{text}": value out of range$'):
        parse_int(text)


def test_int_of_some_bits() -> None:
    assert parse_int("-128", bits=8) == -128
    with pytest.raises(ValueError, match=r'^strconv.ParseInt: parsing "128": value out of range$'):
        parse_int("128", bits=8)
    with pytest.raises(ValueError, match=r'^strconv.ParseInt: parsing "x": invalid syntax$'):
        parse_int("x", bits=32)


@pytest.mark.parametrize(
    ("text", "base", "value"),
    [
        ("65535", 10, 65535),
        ("007", 10, 7),
        ("ff", 16, 255),
        ("0xfF", 0, 255),
        ("0b101", 0, 5),
        ("0o17", 0, 15),
        ("017", 0, 15),
        ("0", 0, 0),
        ("17", 0, 17),
    ],
)
def test_uint(text: str, base: int, value: int) -> None:
    assert parse_uint(text, 16, base) == value


@pytest.mark.parametrize(
    ("text", "base", "reason"),
    [
        ("-1", 10, "invalid syntax"),
        ("+1", 10, "invalid syntax"),
        ("0x1", 10, "invalid syntax"),
        ("0x", 0, "invalid syntax"),
        ("08", 0, "invalid syntax"),
        ("zz", 0, "invalid syntax"),
        ("65536", 10, "value out of range"),
        ("0x10000", 0, "value out of range"),
    ],
)
def test_uint_refused(text: str, base: int, reason: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_uint(text, 16, base)
    assert str(caught.value) == f'strconv.ParseUint: parsing "{text}": {reason}'


def test_bool() -> None:
    assert [parse_bool(text) for text in ("1", "t", "T", "TRUE", "true", "True")] == [True] * 6
    assert [parse_bool(text) for text in ("0", "f", "F", "FALSE", "false", "False")] == [False] * 6
    for text in ("yes", "tRUE", ""):
        with pytest.raises(ValueError, match=f'^strconv.ParseBool: parsing "{text}": invalid syntax$'):
            parse_bool(text)
