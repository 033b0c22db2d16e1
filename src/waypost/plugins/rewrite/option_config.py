"""What a Corefile says of EDNS options: `edns0 local|nsid|subnet set|append|replace|unset ... [revert]`."""

from __future__ import annotations

from collections.abc import Sequence

from waypost.corefile.args import parse_uint
from waypost.corefile.quoting import quote
from waypost.plugins.rewrite.options import (
    ACTIONS,
    SUBNET,
    UNSET,
    VARIABLES,
    OptionRule,
    Value,
    constant,
    from_metadata,
    subnet,
)
from waypost.wire import consts


def option_rule(words: Sequence[str]) -> OptionRule:
    """The rule of the words behind `edns0`. Raises ValueError."""
    if len(words) < 2:
        raise ValueError("too few arguments for an EDNS0 rule")
    kind, action = words[0].lower(), words[1].lower()
    if action not in ACTIONS:
        raise ValueError(f"invalid action: {quote(action)}")
    revert = words[-1] == "revert"
    rest = words[2:-1] if revert else words[2:]
    if kind == "local":
        return _local(action, rest, revert)
    if kind == "nsid":
        if rest:
            raise ValueError("EDNS0 NSID rules can not have any args")
        return OptionRule(consts.EDNS_NSID, action, constant(b""), revert)
    if kind == "subnet":
        return _subnet(action, rest, revert)
    raise ValueError(f"invalid rule type {quote(kind)}")


def _local(action: str, words: Sequence[str], revert: bool) -> OptionRule:
    if action == UNSET:
        if len(words) != 1:
            raise ValueError("local unset action requires exactly two arguments")
        return OptionRule(parse_uint(words[0], 16, 0), action, constant(b""), revert)
    if len(words) != 2:
        raise ValueError("EDNS0 local rules require exactly three args")
    return OptionRule(parse_uint(words[0], 16, 0), action, _value(words[1]), revert, repeats=True)


def _value(text: str) -> Value:
    """`{variable}`, `{plugin/label}`, `0x...` or plain text."""
    if text.startswith("{") and text.endswith("}"):
        before, slash, behind = text[1:-1].partition("/")
        if slash and before and behind:
            return from_metadata(text[1:-1])
        if text not in VARIABLES:
            raise ValueError(f"unsupported variable name {quote(text)}")
        return VARIABLES[text]
    return constant(_hex(text[2:]) if text.startswith("0x") else text.encode())


def _hex(digits: str) -> bytes:
    """Bytes of hexadecimal digits; errors are those of Go's encoding/hex."""
    for digit in digits:
        if digit not in "0123456789abcdefABCDEF":
            raise ValueError(f"encoding/hex: invalid byte: U+{ord(digit):04X} '{digit}'")
    if len(digits) % 2:
        raise ValueError("encoding/hex: odd length hex string")
    return bytes.fromhex(digits)


def _subnet(action: str, words: Sequence[str], revert: bool) -> OptionRule:
    if action == UNSET:
        if words:
            raise ValueError("EDNS0 subnet unset action can not have any args")
        return OptionRule(SUBNET, action, constant(b""), revert)
    if len(words) != 2:
        raise ValueError("EDNS0 subnet rules require exactly three args")
    v4_bits, v6_bits = parse_uint(words[0], 8, 0), parse_uint(words[1], 8, 0)
    if v4_bits > 32:
        raise ValueError(f"invalid IPv4 bit mask length {v4_bits}")
    if v6_bits > 128:
        raise ValueError(f"invalid IPv6 bit mask length {v6_bits}")
    return OptionRule(SUBNET, action, subnet(v4_bits, v6_bits), revert)
