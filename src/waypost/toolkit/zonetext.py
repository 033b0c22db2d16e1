"""The text of a zone file (RFC 1035 section 5) to records, with $ORIGIN, $TTL, $INCLUDE and $GENERATE.

dnspython splits the text and reads names and rdata; what is written down here is the shape of the lines.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from io import BytesIO

import dns.exception
import dns.name
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import dns.tokenizer
import dns.ttl

from waypost.wire import consts
from waypost.wire.record import Record

_MAX_INCLUDE_DEPTH = 7
_MAX_GENERATED = 65536
_MAX_WIDTH = 255
_RANGE = re.compile(r"(\d{1,10})-(\d{1,10})(?:/(\d{1,10}))?")
_COUNTER = re.compile(r"\\\$|\$\$|\$(\{[^}]*\})?")
_MODIFIER = re.compile(r"\{(-?\d{1,10})(?:,(\d{1,3})(?:,([doxX]))?)?\}")


class ZoneTextError(Exception):
    """A line that cannot be read: `str()` gives `FILE:LINE: what is wrong`."""

    def __init__(self, path: str, line: int, text: str) -> None:
        super().__init__(f"{path}:{line}: {text}")
        self.path = path
        self.line = line
        self.text = text


def read_records(path: str, origin: bytes) -> Iterator[Record]:
    """The records of a zone file as they are read; relative names are below `origin`.

    Raises OSError if the file cannot be opened, ZoneTextError for what stands in it.
    """
    text = _read(path)
    context = _Context(dns.name.from_wire(origin, 0)[0])
    return _Reader(path, text, context, 0).records()


def _read(path: str) -> str:
    """Bytes that are not UTF-8 do no harm in comments, and are refused elsewhere."""
    with open(path, encoding="utf-8-sig", errors="surrogateescape") as file:
        return file.read()


@dataclass(frozen=True, slots=True)
class _Context:
    """What a line takes over from those before it; `ttl` in seconds, `default` is that of $TTL."""

    origin: dns.name.Name
    owner: dns.name.Name | None = None
    ttl: int | None = None
    default: int | None = None


class _Fault(Exception):
    """What is wrong with the line being read."""


class _Reader:
    """One text: a file, or a line that $GENERATE makes."""

    def __init__(self, path: str, text: str, context: _Context, depth: int, line: int = 0) -> None:
        self._path = path
        self._tokens = dns.tokenizer.Tokenizer(text, path)
        self._context = context
        self._depth = depth
        self._line = line

    def records(self) -> Iterator[Record]:
        made_by_a_line = self._line
        while True:
            self._line = made_by_a_line or self._tokens.where()[1]
            try:
                token = self._tokens.get(want_leading=True)
                if token.is_eof():
                    return
                found = self._entry(token)
                if isinstance(found, Record):
                    yield found
                elif found is not None:
                    yield from found
            except _Fault as fault:
                raise ZoneTextError(self._path, self._line, str(fault)) from None
            except (dns.exception.DNSException, UnicodeError, ValueError) as exc:
                text = str(exc) or type(exc).__name__
                raise ZoneTextError(self._path, self._line, text) from exc

    def _entry(self, token: dns.tokenizer.Token) -> Record | Iterator[Record] | None:
        if token.is_eol():
            return None
        if token.is_whitespace():
            token = self._tokens.get()
            if token.is_eol_or_eof():
                return None
            self._tokens.unget(token)
        elif token.is_identifier() and token.value.startswith("$"):
            return self._directive(token.value.upper())
        else:
            self._context = replace(self._context, owner=self._tokens.as_name(token, self._context.origin))
        return self._record()

    def _record(self) -> Record:
        """[TTL] [CLASS] TYPE RDATA, the first two in any order."""
        context = self._context
        if context.owner is None:
            raise _Fault("a line without a name, and no name before it")
        ttl: int | None = None
        while True:
            word = self._word("a record type")
            rclass = consts.class_number(word.upper())
            if ttl is None and word[0].isdigit():
                ttl = dns.ttl.from_text(word)
            elif rclass is None:
                break
            elif rclass != consts.CLASS_IN:
                raise _Fault(f"class {word}, expected IN")
        rtype = self._type(word)
        rdata = self._rdata(rtype, context.origin)
        owner = b"".join(bytes((len(label),)) + label for label in context.owner.labels)
        return Record(owner, int(rtype), consts.CLASS_IN, self._ttl(ttl, int(rtype), rdata), rdata)

    def _rdata(self, rtype: dns.rdatatype.RdataType, origin: dns.name.Name) -> bytes:
        wire = BytesIO()
        try:
            dns.rdata.from_text(dns.rdataclass.IN, rtype, self._tokens, origin, False).to_wire(wire)
        except (dns.exception.DNSException, ValueError) as exc:
            raise _Fault(f"bad {dns.rdatatype.to_text(rtype)} record: {exc}") from exc
        return wire.getvalue()

    def _ttl(self, stated: int | None, rtype: int, rdata: bytes) -> int:
        """The TTL stated, else that of $TTL, else the last one stated, else for an SOA its minimum."""
        context = self._context
        ttl = stated
        if ttl is None:
            ttl = context.default if context.default is not None else context.ttl
        if ttl is None and rtype == consts.TYPE_SOA:
            ttl = int.from_bytes(rdata[-4:], "big")
        if ttl is None:
            raise _Fault("no TTL: expected one on the line, on a line before it, or $TTL")
        if ttl != context.ttl and (stated is not None or context.ttl is None):
            self._context = replace(context, ttl=ttl)
        return ttl

    def _type(self, word: str) -> dns.rdatatype.RdataType:
        try:
            rtype = dns.rdatatype.from_text(word)
        except (dns.exception.DNSException, ValueError):
            raise _Fault(f"unknown record type {word!r}") from None
        if dns.rdatatype.is_metatype(rtype):
            raise _Fault(f"type {word} cannot stand in a zone")
        return rtype

    def _directive(self, name: str) -> Iterator[Record] | None:
        if name == "$ORIGIN":
            origin = self._tokens.get_name(self._context.origin)
            self._context = replace(self._context, origin=origin)
        elif name == "$TTL":
            ttl = dns.ttl.from_text(self._word("a TTL"))
            self._context = replace(self._context, default=ttl)
        elif name == "$INCLUDE":
            return self._include(self._rest())
        elif name == "$GENERATE":
            return self._generate(self._rest())
        else:
            raise _Fault(f"unknown directive {name}")
        self._tokens.get_eol()
        return None

    def _include(self, args: list[str]) -> Iterator[Record]:
        """$INCLUDE FILE [ORIGIN]: a relative file is looked for beside the one that names it."""
        if not 1 <= len(args) <= 2:
            raise _Fault("expected $INCLUDE FILE [ORIGIN]")
        if self._depth >= _MAX_INCLUDE_DEPTH:
            raise _Fault(f"$INCLUDE nested more than {_MAX_INCLUDE_DEPTH} deep")
        path = os.path.join(os.path.dirname(self._path), args[0])
        try:
            text = _read(path)
        except OSError as exc:
            raise _Fault(f"cannot include {args[0]}: open {path}: {exc.strerror}") from exc
        context = self._context
        if len(args) == 2:
            context = replace(context, origin=dns.name.from_text(args[1], context.origin))
        return _Reader(path, text, context, self._depth + 1).records()

    def _generate(self, args: list[str]) -> Iterator[Record]:
        """$GENERATE START-STOP[/STEP] LINE: the line once for every number, which stands for `$` in it."""
        bounds = _RANGE.fullmatch(args[0]) if len(args) > 2 else None
        if bounds is None:
            raise _Fault("expected $GENERATE START-STOP[/STEP] NAME [TTL] [CLASS] TYPE RDATA")
        numbers = range(int(bounds[1]), int(bounds[2]) + 1, max(int(bounds[3] or 1), 1))
        if not 0 < len(numbers) <= _MAX_GENERATED:
            raise _Fault(f"$GENERATE of {len(numbers)} lines, expected 1 to {_MAX_GENERATED}")
        template = " ".join(args[1:])
        return self._generated(numbers, template)

    def _generated(self, numbers: range, template: str) -> Iterator[Record]:
        for number in numbers:
            text = _COUNTER.sub(lambda found: _counted(found, number), template)  # noqa: B023  # used at once
            yield from _Reader(self._path, text, self._context, _MAX_INCLUDE_DEPTH, self._line).records()

    def _word(self, expected: str) -> str:
        token = self._tokens.get()
        if not token.is_identifier() or not token.value:
            raise _Fault(f"expected {expected}")
        return str(token.value)

    def _rest(self) -> list[str]:
        """The words up to the end of the line, quoted ones with their quotes."""
        words = []
        while not (token := self._tokens.get()).is_eol_or_eof():
            words.append(f'"{token.value}"' if token.is_quoted_string() else token.value)
        return words


def _counted(found: re.Match[str], number: int) -> str:
    if found[0] in ("\\$", "$$"):
        return "$"
    modifier = _MODIFIER.fullmatch(found[1]) if found[1] else None
    if modifier is None:
        if found[1]:
            raise _Fault(f"expected ${{OFFSET[,WIDTH[,BASE]]}}, not {found[0]}")
        return str(number)
    width = min(int(modifier[2] or 0), _MAX_WIDTH)
    return format(number + int(modifier[1]), modifier[3] or "d").rjust(width, "0")
