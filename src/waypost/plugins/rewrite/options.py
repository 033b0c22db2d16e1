"""Rules that change the EDNS options of a query (RFC 6891): local ones, NSID (RFC 5001), client subnet (RFC 7871)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from waypost.plugins.rewrite.asked import Asked, Revert
from waypost.toolkit.replacer import metadata_value
from waypost.wire import addr, names
from waypost.wire.edns import Opt, Option, Options
from waypost.wire.reply import Reply

SUBNET: Final = 8
SET: Final = "set"
APPEND: Final = "append"
REPLACE: Final = "replace"
UNSET: Final = "unset"
ACTIONS: Final = (APPEND, REPLACE, SET, UNSET)

Value = Callable[[Asked], bytes | None]
"""An option's data for a question; None: there is none, and the rule does not fit."""

# The OPT of a query that came without.
_NEW: Final = Opt(4096)


@dataclass(frozen=True, slots=True)
class OptionRule:
    """Set, add, replace or remove an option. `repeats` lets `append` add a second one of the same code."""

    code: int
    action: str
    value: Value
    revert: bool = False
    repeats: bool = False

    def apply(self, asked: Asked) -> tuple[Revert, ...] | None:
        """The query gets an OPT in any case, unless there is no value."""
        data = self.value(asked)
        if data is None:
            return None
        opt = asked.opt or _NEW
        asked.opt = opt
        at = next((n for n, option in enumerate(opt.options) if option.code == self.code), -1)
        options = self._changed(opt.options, at, data)
        if options is None:
            return None
        asked.opt = opt._replace(options=options)
        if not self.revert or self.action == UNSET:
            return ()
        before = opt.options[at].data if at >= 0 else None
        return (partial(_reverted, code=self.code, data=data, before=before),)

    def _changed(self, options: Options, at: int, data: bytes) -> Options | None:
        """The options after the change, `at` being where the first one of the code is, -1 for nowhere."""
        option = Option(self.code, data)
        if self.action == UNSET:
            return tuple(other for other in options if other.code != self.code) if at >= 0 else None
        if at >= 0 and self.action != APPEND:
            return (*options[:at], option, *options[at + 1 :])
        if self.action == REPLACE or (at >= 0 and not self.repeats):
            return None
        return (*options, option)


def _reverted(reply: Reply, code: int, data: bytes, before: bytes | None) -> Reply:
    """The reply without the option that the rule set, or with what the client had sent in its place."""
    if reply.opt is None:
        return reply
    options = list(reply.opt.options)
    at = next((n for n, option in enumerate(options) if option == (code, data)), -1)
    if at < 0:
        return reply
    options[at : at + 1] = [] if before is None else [Option(code, before)]
    return reply.replace(opt=reply.opt._replace(options=tuple(options)))


def constant(data: bytes) -> Value:
    """The same for every question."""
    return lambda asked: data


def from_metadata(label: str) -> Value:
    """The value of a metadata label."""

    def value(asked: Asked) -> bytes | None:
        text = metadata_value(asked.request, label)
        return text.encode() if text else None

    return value


def subnet(v4_bits: int, v6_bits: int) -> Value:
    """The client's network, of these prefix lengths (RFC 7871 section 6)."""

    def value(asked: Asked) -> bytes | None:
        packed = addr.pack(asked.request.client_ip)
        if packed is None:
            return None
        family, bits = (1, v4_bits) if len(packed) == 4 else (2, v6_bits)
        size = -(-bits // 8)
        masked = bytearray(packed[:size])
        if bits % 8:
            masked[-1] &= 0xFF << (8 - bits % 8) & 0xFF
        return family.to_bytes(2, "big") + bytes((bits, 0)) + masked

    return value


def _port(port: str | int) -> bytes:
    return int(port).to_bytes(2, "big")


VARIABLES: Final[dict[str, Value]] = {
    "{qname}": lambda asked: names.to_text(asked.qname).encode(),
    "{qtype}": lambda asked: asked.qtype.to_bytes(2, "big"),
    "{client_ip}": lambda asked: addr.pack(asked.request.client_ip),
    "{client_port}": lambda asked: _port(asked.request.client[1]),
    "{protocol}": lambda asked: asked.request.protocol.encode(),
    "{server_ip}": lambda asked: addr.pack(asked.request.local_ip.partition("%")[0]),
    "{server_port}": lambda asked: _port(asked.request.local_port),
}
"""What stands in braces instead of data."""
