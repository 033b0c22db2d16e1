"""view: let a server block answer only the queries for which expressions are true.

view NAME {
    expr EXPRESSION
}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from waypost.corefile.addresses import parse_network
from waypost.corefile.args import Cursor
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.dispatch.handler import Handler, Outcome
from waypost.dispatch.request import Request
from waypost.dispatch.site import Site
from waypost.toolkit.expression import (
    EvaluationError,
    Expression,
    ExpressionError,
    Function,
    Kind,
    compile_expression,
)
from waypost.toolkit.replacer import metadata_value
from waypost.wire import addr, consts, names
from waypost.wire.fit import size_limit


@dataclass(frozen=True, slots=True)
class Config:
    """A name for metrics, and expressions that must all be true."""

    name: str
    expressions: tuple[tuple[str, Expression], ...] = ()


def parse(directive: Directive) -> Config:
    """Raises CorefileError; errors of expressions have no line, as in CoreDNS."""
    cursor = Cursor(directive)
    config: Config | None = None
    for args in cursor.occurrences():
        if config is not None:
            raise CorefileError.unlocated("this plugin can only be used once per Server Block")
        if len(args) != 1:
            raise cursor.arg_err()
        config = Config(args[0], tuple(_expressions(cursor)))
    assert config is not None
    return config


def _expressions(cursor: Cursor) -> Iterable[tuple[str, Expression]]:
    for name, words in cursor.options():
        if name != "expr":
            raise cursor.err(f"unknown property '{name}'")
        source = " ".join(words)
        try:
            yield source, compile_expression(source, FUNCTIONS)
        except ExpressionError as exc:
            raise CorefileError.unlocated(str(exc)) from exc


def setup(directive: Directive, site: Site) -> None:
    """Name the block and filter its queries."""
    config = parse(directive)
    for source, expression in config.expressions:
        if expression.kind not in (Kind.BOOL, Kind.ANY):
            site.log.warning(f"expression is {expression.kind.value}, not bool, so it is never true: {source}")
    site.view = config.name
    site.filters.extend(_filter(expression) for _, expression in config.expressions)
    if not config.expressions:  # also a view that takes every query may stand beside another block of its zone
        site.filters.append(lambda request: True)
    site.add(View(config.name))


def _filter(expression: Expression) -> Callable[[Request], bool]:
    """True only if the value is true; an expression without a value is false."""

    def passes(request: Request) -> bool:
        try:
            return expression.evaluate(request) is True
        except EvaluationError:
            return False

    return passes


class View:
    """Tells the name of the view, as metadata; queries only pass."""

    __slots__ = ("_view", "name", "next")

    next: Handler

    def __init__(self, view: str) -> None:
        self.name = "view"
        self._view = view

    def metadata(self, request: Request) -> Iterable[tuple[str, Callable[[], str]]]:
        """The label `view/name`."""
        return (("view/name", lambda: self._view),)

    def serve(self, request: Request) -> Outcome:
        """The next plugin's reply."""
        return self.next.serve(request)


def _in_network(request: Request, ip: str, network: str) -> bool:
    packed = addr.pack(ip)
    if packed is None:
        raise EvaluationError(f"{ip} is no IP address")
    size, shift, prefix = _network(network)
    return len(packed) == size and int.from_bytes(packed, "big") >> shift == prefix


@lru_cache(maxsize=256)
def _network(text: str) -> tuple[int, int, int]:
    """Bytes of an address, bits behind the prefix, and the prefix without them. Raises EvaluationError."""
    try:
        network = parse_network(text)
    except ValueError as exc:
        raise EvaluationError(str(exc)) from exc
    shift = network.max_prefixlen - network.prefixlen
    return network.max_prefixlen // 8, shift, int(network.network_address) >> shift


def _of_request(kind: Kind, call: Callable[[Request], object]) -> Function:
    return Function(kind, (), call)


FUNCTIONS: Final[dict[str, Function]] = {
    "bufsize": _of_request(Kind.INT, lambda request: size_limit(request.query, datagram=request.datagram)),
    "class": _of_request(Kind.STRING, lambda request: consts.class_text(request.query.qclass)),
    "client_ip": _of_request(Kind.STRING, lambda request: request.client_ip),
    "do": _of_request(Kind.BOOL, lambda request: request.query.do),
    "id": _of_request(Kind.INT, lambda request: request.query.id),
    "incidr": Function(Kind.BOOL, (Kind.STRING, Kind.STRING), _in_network),
    "metadata": Function(Kind.STRING, (Kind.STRING,), lambda request, label: metadata_value(request, label) or ""),
    "name": _of_request(Kind.STRING, lambda request: names.to_text(request.query.name)),
    "opcode": _of_request(Kind.INT, lambda request: request.query.opcode),
    "port": _of_request(Kind.STRING, lambda request: str(request.client[1])),
    "proto": _of_request(Kind.STRING, lambda request: request.protocol),
    "server_ip": _of_request(Kind.STRING, lambda request: request.local_ip),
    "server_port": _of_request(Kind.STRING, lambda request: request.local_port),
    "size": _of_request(Kind.INT, lambda request: len(request.query.wire)),
    "type": _of_request(Kind.STRING, lambda request: consts.type_text(request.query.qtype)),
}
"""What expressions can ask of a query."""
