"""Key pairs made by cryptography, written as `dnssec-keygen` would."""

from __future__ import annotations

import base64
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from dns.dnssecalgs import get_algorithm_cls
from dns.dnssectypes import Algorithm
from dns.rdtypes.ANY.DNSKEY import DNSKEY

from waypost.toolkit.dnssec_keys import PrivateKey

CSK, ZSK = 257, 256


def generate(algorithm: Algorithm) -> PrivateKey:
    if algorithm == Algorithm.ECDSAP256SHA256:
        return ec.generate_private_key(ec.SECP256R1())
    if algorithm == Algorithm.ECDSAP384SHA384:
        return ec.generate_private_key(ec.SECP384R1())
    if algorithm == Algorithm.ED25519:
        return ed25519.Ed25519PrivateKey.generate()
    if algorithm == Algorithm.ED448:
        return ed448.Ed448PrivateKey.generate()
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def private_text(algorithm: Algorithm, key: PrivateKey) -> str:
    fields: dict[str, bytes] = {}
    if isinstance(key, ec.EllipticCurvePrivateKey):
        fields["PrivateKey"] = key.private_numbers().private_value.to_bytes(key.key_size // 8, "big")
    elif isinstance(key, rsa.RSAPrivateKey):
        numbers = key.private_numbers()
        public = numbers.public_numbers
        parts = {
            "Modulus": public.n, "PublicExponent": public.e, "PrivateExponent": numbers.d, "Prime1": numbers.p,
            "Prime2": numbers.q, "Exponent1": numbers.dmp1, "Exponent2": numbers.dmq1, "Coefficient": numbers.iqmp,
        }  # fmt: skip
        fields = {name: part.to_bytes((part.bit_length() + 7) // 8, "big") for name, part in parts.items()}
    else:
        fields["PrivateKey"] = key.private_bytes_raw()
    lines = [f"{name}: {base64.b64encode(value).decode()}\n" for name, value in fields.items()]
    return f"Private-key-format: v1.3\nAlgorithm: {int(algorithm)} ({algorithm.name})\n" + "".join(lines)


def write_pair(
    folder: Path,
    name: str = "K",
    zone: str = "example.org.",
    *,
    algorithm: Algorithm = Algorithm.ED25519,
    flags: int = CSK,
) -> DNSKEY:
    """Write NAME.key and NAME.private; gives the DNSKEY."""
    private = generate(algorithm)
    dnskey = get_algorithm_cls(algorithm)(private).public_key().to_dnskey(flags)
    (folder / f"{name}.key").write_text(f"; This is a key, keyid 1, for {zone}\n{zone} IN DNSKEY {dnskey.to_text()}\n")
    (folder / f"{name}.private").write_text(private_text(algorithm, private))
    return dnskey
