"""Key pairs as `dnssec-keygen` writes them: NAME.key with a DNSKEY record, NAME.private in BIND's form (v1.x)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from dataclasses import dataclass

import dns.dnssec
import dns.exception
import dns.rdatatype
import dns.zonefile
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from dns.dnssecalgs import get_algorithm_cls
from dns.dnssectypes import Algorithm
from dns.rdtypes.ANY.DNSKEY import DNSKEY

from waypost.corefile.errors import CorefileError

PrivateKey = ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | ed448.Ed448PrivateKey | rsa.RSAPrivateKey

_SEP = 0x0001
_CURVES: dict[int, ec.EllipticCurve] = {
    Algorithm.ECDSAP256SHA256: ec.SECP256R1(),
    Algorithm.ECDSAP384SHA384: ec.SECP384R1(),
}
_RSA = (Algorithm.RSASHA1, Algorithm.RSASHA1NSEC3SHA1, Algorithm.RSASHA256, Algorithm.RSASHA512)


class KeyFileError(Exception):
    """A key that cannot be used: `str()` gives the file and what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Key:
    """A zone's key pair: `owner` in wire form and lower case, `rdata` that of the DNSKEY record."""

    owner: bytes
    rdata: bytes
    dnskey: DNSKEY
    private: PrivateKey

    @property
    def is_ksk(self) -> bool:
        """True with the Secure Entry Point flag: it may stand in the parent's DS (RFC 4034 section 2.1.1)."""
        return bool(self.dnskey.flags & _SEP)

    @property
    def tag(self) -> int:
        """The key tag (RFC 4034 appendix B)."""
        return dns.dnssec.key_id(self.dnskey)


def load_keys(bases: Iterable[str]) -> list[Key]:
    """Read key pairs that a Corefile names. Raises CorefileError."""
    keys = []
    for base in bases:
        try:
            keys.append(read_key(base))
        except OSError as exc:
            raise CorefileError.unlocated(f"open {exc.filename}: {(exc.strerror or '').lower()}") from exc
        except KeyFileError as exc:
            raise CorefileError.unlocated(str(exc)) from exc
    return keys


def read_key(base: str) -> Key:
    """Read `base`.key and `base`.private. Raises OSError and KeyFileError."""
    public, private = f"{base}.key", f"{base}.private"
    owner, dnskey = _public(public, _text(public))
    try:
        key = private_key(dnskey.algorithm, _text(private))
        algorithm = get_algorithm_cls(dnskey.algorithm)
        made = algorithm(key).public_key().to_dnskey(dnskey.flags, dnskey.protocol)
    except (ValueError, TypeError, dns.exception.DNSException) as exc:
        raise KeyFileError(f"{private}: {exc}") from exc
    if made.key != dnskey.key:
        raise KeyFileError(f"{private}: does not belong to the DNSKEY in {public}")
    return Key(owner, dnskey.to_wire() or b"", dnskey, key)


def _text(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def _public(path: str, text: str) -> tuple[bytes, DNSKEY]:
    try:
        rrsets = dns.zonefile.read_rrsets(text, rdclass=None, default_ttl=0, relativize=False)
    except (ValueError, dns.exception.DNSException) as exc:
        raise KeyFileError(f"{path}: {exc}") from exc
    for rrset in rrsets:
        for rdata in rrset:
            if isinstance(rdata, DNSKEY):
                return rrset.name.canonicalize().to_wire() or b"", rdata
    raise KeyFileError(f"{path}: expected a DNSKEY record")


def private_key(algorithm: int, text: str) -> PrivateKey:
    """The key in a private key file. Raises ValueError."""
    fields = dict(_field(line) for line in text.splitlines() if ":" in line)
    named = fields.get("algorithm", "").split(" ")[0]
    if named != str(int(algorithm)):
        raise ValueError(f"expected a private key of algorithm {int(algorithm)}, found {named or 'none'}")
    if algorithm in _CURVES:
        return ec.derive_private_key(_number(fields, "privatekey"), _CURVES[algorithm])
    if algorithm == Algorithm.ED25519:
        return ed25519.Ed25519PrivateKey.from_private_bytes(_bytes(fields, "privatekey"))
    if algorithm == Algorithm.ED448:
        return ed448.Ed448PrivateKey.from_private_bytes(_bytes(fields, "privatekey"))
    if algorithm in _RSA:
        public = rsa.RSAPublicNumbers(_number(fields, "publicexponent"), _number(fields, "modulus"))
        return rsa.RSAPrivateNumbers(
            _number(fields, "prime1"),
            _number(fields, "prime2"),
            _number(fields, "privateexponent"),
            _number(fields, "exponent1"),
            _number(fields, "exponent2"),
            _number(fields, "coefficient"),
            public,
        ).private_key()
    raise ValueError(f"algorithm {int(algorithm)} is not supported")


def _field(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name.strip().lower(), value.strip()


def _bytes(fields: dict[str, str], name: str) -> bytes:
    if name not in fields:
        raise ValueError(f"expected a line {name!r}")
    try:
        return base64.b64decode(fields[name], validate=True)
    except binascii.Error as exc:
        raise ValueError(f"{name}: expected base64") from exc


def _number(fields: dict[str, str], name: str) -> int:
    return int.from_bytes(_bytes(fields, name), "big")
