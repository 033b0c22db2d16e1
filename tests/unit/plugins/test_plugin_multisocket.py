import pytest

from support.chain import make_directive, make_site
from waypost.corefile.errors import CorefileError
from waypost.plugins.multisocket import parse, setup
from waypost.toolkit.processors import usable_processors

ARGUMENTS = "Wrong argument count or unexpected line ending after"


@pytest.mark.parametrize(("text", "number"), [("1", 1), ("2", 2), ("1024", 1024), ("", usable_processors())])
def test_numbers(text: str, number: int) -> None:
    site = make_site()
    assert site.sockets == 1
    setup(make_directive(f"multisocket {text}"), site)
    assert site.sockets == number


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("multisocket 0", "num sockets can not be zero or negative: 0"),
        ("multisocket -1", "num sockets can not be zero or negative: -1"),
        ("multisocket 1025", r"num sockets exceeds maximum \(1024\): 1025"),
        ("multisocket x", 'invalid num sockets: strconv.Atoi: parsing "x": invalid syntax'),
        ("multisocket 1 2", f"{ARGUMENTS} '2'"),
        ("multisocket 2\nmultisocket 2", f"{ARGUMENTS} '2'"),
    ],
)
def test_what_is_refused(text: str, error: str) -> None:
    with pytest.raises(CorefileError, match=f"{error}$"):
        parse(make_directive(text))
