"""The flags in a container's command line."""

from __future__ import annotations

from waypost.diagnosis.workloads import Container


def option(container: Container, name: str) -> str | None:
    """The value of a flag (`-name value`, `--name=value`); None if it is not given, empty if nothing follows."""
    words = [*container.command, *container.args]
    for place, word in enumerate(words):
        flag, equals, value = word.partition("=")
        if flag in (f"-{name}", f"--{name}"):
            return value if equals else "".join(words[place + 1 : place + 2])
    return None
