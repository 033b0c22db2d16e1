import pytest

from waypost.toolkit.gotemplate.printf import sprintf


@pytest.mark.parametrize(
    ("template", "arguments", "expected"),
    [
        ("%d %v %s %t", (1, 2.5, "x", True), "1 2.5 x true"),
        ("%5d|%-5d|%05d|%+d|% d", (42, 42, -42, 42, 42), "   42|42   |-0042|+42| 42"),
        ("%x %X %#x %o %b %#o", (255, 255, 255, 8, 5, 8), "ff FF 0xff 10 101 010"),
        ("%x|% x|%X|%#x", ("hi", "hi", "hi", "hi"), "6869|68 69|6869|0x6869"),
        ("%q %q %#q", ('a"b', "\u00e9\n", "raw"), '"a\\"b" "\u00e9\\n" `raw`'),
        ("%c %q %U", (65, 65, 0x2318), "A 'A' U+2318"),
        ("%.2f %8.3f %e %g", (1.005, 3.14159, 1234.5, 1e21), "1.00    3.142 1.234500e+03 1e+21"),
        ("%.2s|%5s|%-5s|", ("abc", "ab", "ab"), "ab|   ab|ab   |"),
        ("%*d|%-*d|", (4, 7, 4, 7), "   7|7   |"),
        ("%[2]d %[1]d", (1, 2), "2 1"),
        ("100%%", (), "100%"),
        ("%v %v", (["a", "b"], {"k": "v"}), "[a b] map[k:v]"),
        ("%s %q", (["a", "b"], ["a"]), '[a b] ["a"]'),
        ("%T %T %T", ("a", 1, []), "string int []string"),
        ("%08.3f|%.3d", (3.14159, 7), "0003.142|007"),
    ],
)
def test_what_fits(template: str, arguments: tuple[object, ...], expected: str) -> None:
    assert sprintf(template, arguments) == expected


@pytest.mark.parametrize(
    ("template", "arguments", "expected"),
    [
        ("%d", ("s",), "%!d(string=s)"),
        ("%s", (3,), "%!s(int=3)"),
        ("%z", (3,), "%!z(int=3)"),
        ("%d %d", (1,), "1 %!d(MISSING)"),
        ("%d", (1, "x"), "1%!(EXTRA string=x)"),
        ("%", (), "%!(NOVERB)"),
        ("%[9]d", (1,), "%!d(BADINDEX)"),
        ("%s", (None,), "%!s(<nil>)"),
        ("%*d", ("x", 1), "%!(BADWIDTH)1"),
        ("%t", (1,), "%!t(int=1)"),
    ],
)
def test_what_does_not_fit_is_said_in_the_text(template: str, arguments: tuple[object, ...], expected: str) -> None:
    assert sprintf(template, arguments) == expected


def test_widths_are_bounded() -> None:
    assert len(sprintf("%99999999999d", (1,))) <= 1_000_000
