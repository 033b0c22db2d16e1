import pytest

from waypost.corefile.quoting import quote, quote_bytes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a b", '"a b"'),
        ('a"b\\c', r'"a\"b\\c"'),
        ("\n\t\x07\x00\x7f", r'"\n\t\a\x00\x7f"'),
        ("\u00e4\u4e2d", '"\u00e4\u4e2d"'),
        ("\u00a0\u200b", r'"\u00a0\u200b"'),
        ("\U000e0001", r'"\U000e0001"'),
    ],
)
def test_quote(text: str, expected: str) -> None:
    assert quote(text) == expected


def test_quote_bytes() -> None:
    assert quote_bytes('a"\\\n\u00b5~') == r'"a\"\\\x0a\xc2\xb5~"'
