"""★6 A reply as a value: rcode, header bits and three sections of records; and the common kinds of reply.

A `Reply` is never changed once it was returned: a plugin that wants another makes a copy with `replace`. Two kinds
of outcome write nothing: `failure` (the server writes the rcode, and errors logs the text) and `DROP` (silence).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypedDict, Unpack

from waypost.wire import consts
from waypost.wire.edns import Opt
from waypost.wire.query import Query
from waypost.wire.record import Records

Countdown = Callable[[], int]
"""The TTL in seconds that every record of a reply shows by now; negative: the reply is no longer right."""


Alike = Callable[[bytes], tuple[bytes, bytes] | None]
"""Takes another first label of the name, lower case, with its length in front. If the name of that label gets the same
reply, but for its answer section, which is then of the same length: the key in live data that this depends on, and the
answer section as bytes, with pointers to the question for owners. Else None."""


class _Fields(TypedDict, total=False):
    rcode: int
    flags: int
    answer: Records
    authority: Records
    additional: Records
    opt: Opt | None
    question: bytes
    error: str
    written: bool
    depends: tuple[bytes, ...]
    more: tuple[Reply, ...]


class Reply:
    """What the chain answers.

    `flags` are header bits without QR, opcode and rcode (they include RD and CD). `opt` is an OPT that a plugin or an
    upstream made; the client's own is echoed without it. `question` replaces the question as sent unless it is empty.
    `error` says why a query failed, for the errors plugin. `written` is False for an outcome without a message.
    `depends` are keys of live data that made the answer: a cache drops it when one of them changes. `more` are further
    messages of the same answer (zone transfers); only stream transports can carry them. `steady` is the plugin that
    vouches that nothing but the question, the data under `depends` and, with a `countdown`, the time made it. `alike`
    says which siblings of the name get the same reply. A changed copy has none of the three.
    """

    __slots__ = (
        "_size",
        "additional",
        "alike",
        "answer",
        "authority",
        "countdown",
        "depends",
        "error",
        "flags",
        "more",
        "opt",
        "question",
        "rcode",
        "steady",
        "written",
    )

    def __init__(
        self,
        rcode: int,
        flags: int,
        answer: Records = (),
        authority: Records = (),
        additional: Records = (),
        opt: Opt | None = None,
        question: bytes = b"",
        error: str = "",
        written: bool = True,
        depends: tuple[bytes, ...] = (),
        more: tuple[Reply, ...] = (),
        steady: object = None,
        countdown: Countdown | None = None,
    ) -> None:
        self.rcode = rcode
        self.flags = flags
        self.answer = answer
        self.authority = authority
        self.additional = additional
        self.opt = opt
        self.question = question
        self.error = error
        self.written = written
        self.depends = depends
        self.more = more
        self.steady = steady
        self.countdown = countdown
        self.alike: Alike | None = None
        self._size = -1

    @property
    def records_size(self) -> int:
        """Bytes of the records in a message without compression; counted once."""
        size = self._size
        if size < 0:
            size = 0
            for section in (self.answer, self.authority, self.additional):
                for record in section:
                    size += len(record.owner) + 10 + len(record.rdata)
            self._size = size
        return size

    def replace(self, **changes: Unpack[_Fields]) -> Reply:
        """A copy with other fields."""
        fields: _Fields = {
            "rcode": self.rcode,
            "flags": self.flags,
            "answer": self.answer,
            "authority": self.authority,
            "additional": self.additional,
            "opt": self.opt,
            "question": self.question,
            "error": self.error,
            "written": self.written,
            "depends": self.depends,
            "more": self.more,
        }
        fields.update(changes)
        return Reply(**fields)

    def __repr__(self) -> str:
        counts = f"{len(self.answer)}/{len(self.authority)}/{len(self.additional)}"
        return f"Reply({consts.rcode_text(self.rcode)} {consts.flag_texts(self.flags)} {counts} {self.error!r})"


DROP = Reply(consts.NOERROR, 0, written=False)
"""Nothing is sent: UDP stays silent, TCP stays open."""


def failure(rcode: int, error: str = "") -> Reply:
    """No plugin wrote a message: the server answers with this rcode, the question and the client's OPT."""
    return Reply(rcode, 0, error=error, written=False)


def copied_flags(query: Query) -> int:
    """RD and CD of the query, which replies take over (opcode QUERY only)."""
    return query.flags & consts.COPIED if not query.flags & consts.OPCODE_MASK else 0


def authoritative(
    query: Query,
    answer: Records = (),
    authority: Records = (),
    additional: Records = (),
    rcode: int = consts.NOERROR,
    depends: tuple[bytes, ...] = (),
) -> Reply:
    """An answer from our own data: AA set. Negative ones carry the SOA as authority (RFC 2308 section 2)."""
    return Reply(rcode, consts.AA | copied_flags(query), answer, authority, additional, depends=depends)
