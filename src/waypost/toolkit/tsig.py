"""Transaction signatures (TSIG, RFC 8945) of messages in wire form: finding, verifying and making them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import dns.exception
import dns.name
import dns.rdata
import dns.tsig
from dns.rdataclass import ANY
from dns.rdatatype import TSIG as TSIG_TYPE
from dns.rdtypes.ANY.TSIG import TSIG

from waypost.wire import consts
from waypost.wire.errors import FormErr
from waypost.wire.rdata import read_name

BADSIG: Final = 16
BADKEY: Final = 17
BADTIME: Final = 18

_COUNTS: Final = struct.Struct("!HHH")
_FIXED: Final = struct.Struct("!HHIH")
_FUDGE: Final = 300
# dnspython gives no types for these.
_make: Callable[..., TSIG] = TSIG
_sign: Callable[..., tuple[TSIG, object]] = dns.tsig.sign
_validate: Callable[..., object] = dns.tsig.validate

_ALGORITHMS: Final = frozenset(
    (
        dns.tsig.HMAC_SHA1,
        dns.tsig.HMAC_SHA224,
        dns.tsig.HMAC_SHA256,
        dns.tsig.HMAC_SHA256_128,
        dns.tsig.HMAC_SHA384,
        dns.tsig.HMAC_SHA384_192,
        dns.tsig.HMAC_SHA512,
        dns.tsig.HMAC_SHA512_256,
    )
)


class Signature(NamedTuple):
    """The TSIG record of a message; `start` is its offset, `key_name` its owner in wire form and lower case."""

    key_name: bytes
    rdata: TSIG
    start: int


def find(wire: bytes, records: int) -> Signature | None:
    """The TSIG record of a query whose first record is at offset `records`. Raises FormErr."""
    if wire[10:12] == b"\x00\x00":
        return None
    before_last = sum(_COUNTS.unpack_from(wire, 6)) - 1
    i = records
    for n in range(before_last + 1):
        start = i
        try:
            owner, i = read_name(wire, i)
            rtype, rclass, _, length = _FIXED.unpack_from(wire, i)
        except (FormErr, struct.error):
            return None  # what the server takes although it is cut short has no signature
        i += _FIXED.size
        if rtype == consts.TYPE_TSIG:
            if n != before_last or rclass != consts.CLASS_ANY or i + length != len(wire):
                raise FormErr("TSIG is not the last record")
            return Signature(owner.lower(), _read(wire, i, length), start)
        i += length
    return None


def without(wire: bytes, signature: Signature) -> bytes:
    """The message as it was before it was signed."""
    count = int.from_bytes(wire[10:12], "big") - 1
    return wire[:10] + count.to_bytes(2, "big") + wire[12 : signature.start]


def verify(wire: bytes, signature: Signature, secrets: Mapping[bytes, bytes], now: float) -> int:
    """The TSIG error of a query, 0 for none; `secrets` by names as in `Signature`, `now` in seconds of Unix time."""
    secret = secrets.get(signature.key_name)
    if secret is None or signature.rdata.algorithm not in _ALGORITHMS:
        return BADKEY
    key = _key(signature, secret)
    try:
        _validate(wire, key, key.name, signature.rdata, int(now), None, signature.start)
    except dns.tsig.BadTime:
        return BADTIME
    except (dns.exception.DNSException, ValueError):
        return BADSIG
    return 0


class Signer:
    """Puts a TSIG record behind each message of the reply to a query (RFC 8945 sections 5.3 and 5.3.1).

    For a query whose key or signature is wrong, the record is not signed: it only tells the error. `secret` may then be
    empty. `now` gives seconds of Unix time.
    """

    __slots__ = ("_asked", "_context", "_error", "_key", "_now")

    def __init__(self, asked: Signature, secret: bytes, error: int, now: Callable[[], float]) -> None:
        self._asked = asked
        self._key = _key(asked, secret)
        self._error = error
        self._now = now
        self._context: object = None

    def __call__(self, wire: bytes) -> bytes:
        """The message with its TSIG record."""
        asked = self._asked.rdata
        now = int(self._now())
        other = b""
        if self._error == BADTIME:  # the client learns our time, and sees its own confirmed
            other = now.to_bytes(6, "big")
            now = asked.time_signed
        rdata = _make(
            ANY, TSIG_TYPE, asked.algorithm, now, _FUDGE, b"", int.from_bytes(wire[:2], "big"), self._error, other
        )
        if self._error not in (BADSIG, BADKEY):
            rdata, self._context = _sign(wire, self._key, rdata, now, asked.mac, self._context, True)
        data = rdata.to_wire() or b""
        fixed = _FIXED.pack(consts.TYPE_TSIG, consts.CLASS_ANY, 0, len(data))
        count = int.from_bytes(wire[10:12], "big") + 1
        owner = self._asked.key_name
        return wire[:10] + count.to_bytes(2, "big") + wire[12:] + owner + fixed + data


def _key(signature: Signature, secret: bytes) -> dns.tsig.Key:
    name = dns.name.from_wire(signature.key_name, 0)[0]
    return dns.tsig.Key(name, secret, signature.rdata.algorithm)


def _read(wire: bytes, i: int, length: int) -> TSIG:
    try:
        rdata = dns.rdata.from_wire(ANY, TSIG_TYPE, wire, i, length)
    except dns.exception.DNSException as exc:
        raise FormErr("TSIG cannot be read") from exc
    if not isinstance(rdata, TSIG):
        raise FormErr("TSIG cannot be read")
    return rdata
