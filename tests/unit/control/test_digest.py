"""Which changes of a Corefile make another configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from waypost.control.files import Source
from waypost.control.supervisor import read_corefile
from waypost.plugins.order import ORDER

TEXT = ". {\n  whoami\n  log a\n}\n"


@pytest.mark.parametrize(
    ("text", "same"),
    [
        (". {\n\twhoami # why\n    log   a\n}\n", True),
        (". {\n  whoami\n  log b\n}\n", False),
        ("# a comment on a line of its own\n. {\n  whoami\n  log a\n}\n", False),  # as CoreDNS, which counts lines
    ],
)
def test_digest(text: str, same: bool, tmp_path: Path) -> None:
    path = tmp_path / "Corefile"

    def digest(text: str) -> str:
        path.write_text(text)
        return read_corefile(Source(str(path)), "53", ORDER)[1]

    assert (digest(text) == digest(TEXT)) is same
