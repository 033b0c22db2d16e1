import pytest

from waypost.plugins.template.functions import parse_int


@pytest.mark.parametrize(
    ("text", "base", "bits", "expected"),
    [("7", 10, 8, 7), ("ff", 16, 8, 255), ("FF", 16, 0, 255), ("z", 36, 64, 35), ("0x1f", 0, 8, 31), ("017", 0, 8, 15),
     ("0b11", 0, 8, 3), ("0", 0, 8, 0), ("0" * 5000 + "1", 10, 8, 1), ("18446744073709551615", 10, 64, 2**64 - 1)],
)  # fmt: skip
def test_numbers(text: str, base: int, bits: int, expected: int) -> None:
    assert parse_int(text, base, bits) == expected


@pytest.mark.parametrize(
    ("text", "base", "bits", "why"),
    [("256", 10, 8, "value out of range"), ("xx", 10, 8, "invalid syntax"), ("", 10, 8, "invalid syntax"),
     ("-1", 10, 8, "invalid syntax"), ("1_0", 10, 8, "invalid syntax"), ("9" * 5000, 10, 64, "value out of range"),
     ("1", 1, 8, "invalid base 1"), ("1", 10, 65, "invalid bit size 65"),
     ("18446744073709551616", 10, 0, "value out of range")],
)  # fmt: skip
def test_refused_numbers(text: str, base: int, bits: int, why: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_int(text, base, bits)
    assert str(caught.value) == f'strconv.ParseUint: parsing "{text}": {why}'


@pytest.mark.parametrize(
    ("arguments", "got"), [((None, 10, 8), "<nil>"), (("1", "x", 8), "string"), (("1", 10, 1.5), "float64")]
)
def test_arguments_of_other_types(arguments: tuple[object, object, object], got: str) -> None:
    with pytest.raises(ValueError, match=got):
        parse_int(*arguments)
