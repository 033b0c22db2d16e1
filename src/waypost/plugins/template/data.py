"""What a template sees of a query: `.Name`, `.Group.x`, `.Meta "a/b"` and the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from waypost.dispatch.request import Request
from waypost.toolkit.gotemplate.values import Function, Struct
from waypost.toolkit.regexp import Match
from waypost.wire import consts, names
from waypost.wire.query import Query


class Question(Struct):
    """`.Question`: Name as sent, Qtype, Qclass."""

    __slots__ = ("_query",)
    go_type = "*dns.Question"

    def __init__(self, query: Query) -> None:
        self._query = query

    def go_field(self, name: str) -> object:
        """Raises KeyError."""
        return _QUESTION[name](self._query)

    def __str__(self) -> str:
        query = self._query
        return f";{names.to_text(query.qname)}\t{class_text(query.qclass)}\t {type_text(query.qtype)}"


class Message(Struct):
    """`.Message`: the header of the query and its question."""

    __slots__ = ("_query",)
    go_type = "*dns.Msg"

    def __init__(self, query: Query) -> None:
        self._query = query

    def go_field(self, name: str) -> object:
        """Raises KeyError."""
        return _MESSAGE[name](self._query)

    def __str__(self) -> str:
        return str(Question(self._query))


class Data(Struct):
    """The dot of a template: one query that a rule matched."""

    __slots__ = ("_class", "_found", "_groups", "_pattern", "_request", "_type", "_zone")
    go_type = "*template.templateData"

    def __init__(self, request: Request, zone: bytes, pattern: str, found: Match, qclass: int, qtype: int) -> None:
        self._request = request
        self._zone = zone
        self._pattern = pattern
        self._found = found
        self._class = qclass
        self._type = qtype
        self._groups: dict[str, str] = {}

    def go_field(self, name: str) -> object:
        """Raises KeyError."""
        return _DATA[name](self)

    def __str__(self) -> str:
        return str(Question(self._request.query))

    @property
    def zone(self) -> str:
        """The zone of the template that the name lies in."""
        return names.to_text(self._zone)

    @property
    def name(self) -> str:
        """The name asked for in lower case."""
        return names.to_text(self._request.query.name)

    @property
    def class_text(self) -> str:
        """The class asked for, or the template's if that is ANY; empty if it has no name."""
        asked = self._request.query.qclass
        return class_text(self._class if asked == consts.CLASS_ANY else asked)

    @property
    def type_text(self) -> str:
        """The type asked for, or the template's if that is ANY; empty if it has no name."""
        asked = self._request.query.qtype
        return type_text(self._type if asked == consts.TYPE_ANY else asked)

    def match(self) -> list[str]:
        """The whole match and its groups; one that took no part is empty."""
        return [text or "" for text in (self._found[0], *self._found.groups())]

    def group(self) -> dict[str, str]:
        """The groups by number and by name."""
        if not self._groups:
            self._groups = {str(number): text for number, text in enumerate(self.match())}
            self._groups.update({name: text or "" for name, text in self._found.groupdict().items()})
        return self._groups

    def meta(self, key: object) -> str:
        """The value of a metadata label, empty if nobody gave it."""
        known = self._request.metadata
        read = known.get(key) if known is not None and isinstance(key, str) else None
        return read() if read is not None else ""

    @property
    def request(self) -> Request:
        """The query on its way."""
        return self._request

    @property
    def pattern(self) -> str:
        """The regular expression that matched."""
        return self._pattern


def class_text(number: int) -> str:
    """A class's mnemonic, `ANY` too, empty for one without."""
    return "ANY" if number == consts.CLASS_ANY else _named(consts.class_text(number), "CLASS")


def type_text(number: int) -> str:
    """A type's mnemonic, empty for one without, which keeps the metrics small whatever clients ask."""
    return _named(consts.type_text(number), "TYPE")


def _named(text: str, prefix: str) -> str:
    return "" if text.startswith(prefix) else text


def _bit(bit: int) -> Callable[[Query], object]:
    return lambda query: bool(query.flags & bit)


_QUESTION: Final[dict[str, Callable[[Query], object]]] = {
    "Name": lambda query: names.to_text(query.qname),
    "Qtype": lambda query: query.qtype,
    "Qclass": lambda query: query.qclass,
    "String": lambda query: Function(lambda: str(Question(query)), 0, 0),
}
_MESSAGE: Final[dict[str, Callable[[Query], object]]] = {
    "Id": lambda query: query.id,
    "Response": _bit(consts.QR),
    "Opcode": lambda query: query.opcode,
    "Authoritative": _bit(consts.AA),
    "Truncated": _bit(consts.TC),
    "RecursionDesired": _bit(consts.RD),
    "RecursionAvailable": _bit(consts.RA),
    "Zero": _bit(consts.Z),
    "AuthenticatedData": _bit(consts.AD),
    "CheckingDisabled": _bit(consts.CD),
    "Rcode": lambda query: query.flags & consts.RCODE_MASK,
    "Question": lambda query: [Question(query)],
}
_DATA: Final[dict[str, Callable[[Data], object]]] = {
    "Zone": lambda data: data.zone,
    "Name": lambda data: data.name,
    "Regex": lambda data: data.pattern,
    "Match": lambda data: data.match(),
    "Group": lambda data: data.group(),
    "Class": lambda data: data.class_text,
    "Type": lambda data: data.type_text,
    "Message": lambda data: Message(data.request.query),
    "Question": lambda data: Question(data.request.query),
    "Remote": lambda data: data.request.client_ip,
    "Var": lambda data: {},
    "Meta": lambda data: Function(data.meta, 1, 1),
}
