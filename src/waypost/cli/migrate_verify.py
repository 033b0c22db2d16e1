"""What two Corefiles answer differently: both run in this process, asked the same questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from typing import NamedTuple

import dns.exception
import dns.name
import dns.rdatatype

from waypost.cli.answers import CorefileServer
from waypost.cli.podside import InputError, print_line
from waypost.cli.table import print_table
from waypost.control.files import Source
from waypost.corefile.errors import CorefileError
from waypost.podside.replies import Asked, Reply

_TYPES = ("A", "AAAA")


class Question(NamedTuple):
    """A name and a type."""

    name: str
    type: str


def verify(name: str, texts: tuple[str, str, str], names: Sequence[str], manifests: Sequence[str]) -> int:
    """Ask the old Corefile and the new one; gives the exit code. `texts` are old, old with what is required, new.

    An old one that does not start any more is replaced by itself with what is required. Raises InputError.
    """
    questions = [question for each in names for question in _questions(each)]
    old, required, new = texts
    if not old:
        raise InputError(f"{name}: --verify compares two Corefiles, and kube-dns has none")
    cluster = tuple(manifests)
    with ExitStack() as stack:
        try:
            before = stack.enter_context(closing(CorefileServer(Source(name, old), cluster)))
        except (CorefileError, OSError) as exc:
            print_line(f"{name}: does not start as it is ({exc}); compared with it after what is required")
            before = stack.enter_context(closing(_start(name, required, cluster)))
        after = stack.enter_context(closing(_start(name, new, cluster)))
        rows = list(_differences(before, after, questions))
    if rows:
        print_table(("name", "type", "before", "after"), rows)
        return 1
    print(f"no difference in {len(questions)} answer{'s' if len(questions) != 1 else ''}")
    return 0


def _start(name: str, text: str, manifests: tuple[str, ...]) -> CorefileServer:
    try:
        return CorefileServer(Source(name, text), manifests)
    except (CorefileError, OSError) as exc:
        raise InputError(str(exc)) from exc


def _differences(
    before: CorefileServer, after: CorefileServer, questions: Sequence[Question]
) -> Iterator[tuple[str, str, str, str]]:
    for question in questions:
        asked = Asked(question.name, question.type, "", "tcp")
        replies = [server(asked) for server in (before, after)]
        old, new = map(_shown, replies)
        if old != new:
            yield question.name, question.type, old, new


def _shown(reply: Reply) -> str:
    """Code and data of the records in a fixed order: their own is left to chance, and TTLs count down."""
    records = sorted(f"{record.type} {record.data}" for record in reply.records)
    return f"{reply.rcode} {', '.join(records)}".rstrip()


def _questions(text: str) -> list[Question]:
    """`NAME` or `NAME/TYPE`. Raises InputError."""
    name, _, kind = text.rpartition("/")
    if not name or kind.upper() not in dns.rdatatype.RdataType.__members__:  # a name may hold a slash
        name, kind = text, ""
    try:
        absolute = dns.name.from_text(name).to_text()
    except (dns.exception.DNSException, ValueError, UnicodeError) as exc:
        raise InputError(f"--verify: expected NAME or NAME/TYPE, got '{text}': {exc}") from None
    return [Question(absolute, each) for each in ((kind.upper(),) if kind else _TYPES)]
