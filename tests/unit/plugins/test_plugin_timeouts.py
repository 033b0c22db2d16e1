import pytest

from support.chain import make_directive, make_site
from waypost.corefile.errors import CorefileError
from waypost.dispatch.timeouts import Timeouts
from waypost.plugins.timeouts import parse, setup


def test_the_block_gets_what_is_set_and_defaults_for_the_rest() -> None:
    site = make_site()
    setup(make_directive("timeouts {\n read 30\n write 1m\n maxtcpqueries 7\n}\ntimeouts {\n idle 24h\n}"), site)
    assert site.timeouts == Timeouts(read=30.0, write=60.0, idle=86400.0, max_queries=7)
    assert parse(make_directive("timeouts {\n maxtcpqueries -1\n}")) == Timeouts(3.0, 5.0, 10.0, -1)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("read", "Wrong argument count or unexpected line ending after 'read'"),
        ("read 1s 2s", "Wrong argument count or unexpected line ending after '2s'"),
        ("foo", "Wrong argument count or unexpected line ending after 'foo'"),
        ("foo 1s", "unknown option: 'foo'"),
        ("read 0s", "timeout provided '0s' needs to be between 1 second and 24 hours"),
        ("read 500ms", "timeout provided '500ms' needs to be between 1 second and 24 hours"),
        ("idle 25h", "timeout provided '25h0m0s' needs to be between 1 second and 24 hours"),
        ("write x", "failed to parse duration 'x'"),
        ("maxtcpqueries 0", "maxtcpqueries provided '0' needs to be -1 (unlimited) or a positive integer"),
        ("maxtcpqueries -2", "maxtcpqueries provided '-2' needs to be -1 (unlimited) or a positive integer"),
        ("maxtcpqueries x",
         "invalid value for maxtcpqueries 'x': strconv.Atoi: parsing \"x\": invalid syntax"),
    ],
)  # fmt: skip
def test_options_that_are_refused(text: str, error: str) -> None:
    with pytest.raises(CorefileError) as caught:
        parse(make_directive(f"timeouts {{\n {text}\n}}"))
    assert str(caught.value) == f"Corefile:3 - Error during parsing: {error}"


@pytest.mark.parametrize(
    ("text", "place"),
    [("timeouts x", "2 - Error during parsing: Wrong"), ("timeouts {\n}", "3 - Error during parsing: timeouts block"),
     ("timeouts", "2 - Error during parsing: timeouts block with no timeouts specified")],
)  # fmt: skip
def test_these_name_the_plugin_once_more(text: str, place: str) -> None:
    with pytest.raises(CorefileError, match=f"^plugin/timeouts: Corefile:{place}"):
        parse(make_directive(text))
