import pickle

from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Token

TOKEN = Token("x", "Corefile", 3)


def test_forms() -> None:
    assert str(CorefileError("Corefile", 3, "bad")) == "Corefile:3 - Error during parsing: bad"
    assert str(CorefileError.unlocated("bad")) == "bad"
    assert str(CorefileError.syntax(TOKEN, "}")) == "Corefile:3 - Syntax error: Unexpected token 'x', expecting '}'"
    assert CorefileError.argument(TOKEN).text == "Wrong argument count or unexpected line ending after 'x'"
    assert CorefileError.argument(TOKEN._replace(text="{")).text == "Unexpected token '{', expecting argument"
    assert str(CorefileError.end_of_file(TOKEN)) == "Corefile:3 - Error during parsing: Unexpected EOF"


def test_prefixes_add_up_and_leave_the_original_alone() -> None:
    error = CorefileError.at(TOKEN, "bad")
    twice = error.with_prefix("plugin/tls: ").with_prefix("plugin/tls: ")
    assert str(twice) == "plugin/tls: plugin/tls: Corefile:3 - Error during parsing: bad"
    assert (twice.file, twice.line, twice.text) == ("Corefile", 3, "bad")
    assert str(error) == "Corefile:3 - Error during parsing: bad"
    assert str(CorefileError.syntax(TOKEN, "}").with_prefix("p: ")).startswith("p: Corefile:3 - Syntax error: ")
    assert str(CorefileError.unlocated("bad").with_prefix("plugin/cache: ")) == "plugin/cache: bad"


def test_crosses_process_borders() -> None:
    error = CorefileError.syntax(TOKEN, "}").with_prefix("p: ")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
