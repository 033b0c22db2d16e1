from pathlib import Path

import pytest
from dns.dnssectypes import Algorithm

from support.dnssec_keys import ZSK, write_pair
from waypost.toolkit.dnssec_keys import KeyFileError, read_key
from waypost.wire import names


@pytest.mark.parametrize(
    "algorithm",
    [
        Algorithm.ECDSAP256SHA256,
        Algorithm.ECDSAP384SHA384,
        Algorithm.ED25519,
        Algorithm.ED448,
        Algorithm.RSASHA256,
        Algorithm.RSASHA512,
    ],
)
def test_a_pair_is_read(tmp_path: Path, algorithm: Algorithm) -> None:
    dnskey = write_pair(tmp_path, zone="Example.ORG.", algorithm=algorithm)
    key = read_key(str(tmp_path / "K"))
    assert key.owner == names.from_text("example.org.")
    assert key.rdata == dnskey.to_wire()
    assert key.is_ksk


def test_a_zsk_is_told_from_a_ksk(tmp_path: Path) -> None:
    write_pair(tmp_path, flags=ZSK)
    assert not read_key(str(tmp_path / "K")).is_ksk


def test_a_missing_half(tmp_path: Path) -> None:
    write_pair(tmp_path)
    (tmp_path / "K.private").unlink()
    with pytest.raises(FileNotFoundError):
        read_key(str(tmp_path / "K"))


@pytest.mark.parametrize(
    ("file", "text", "error"),
    [
        ("K.key", "", "expected a DNSKEY record"),
        ("K.key", "example.org. IN A 192.0.2.1\n", "expected a DNSKEY record"),
        ("K.key", "example.org. IN DNSKEY 257 3 15 ?\n", "K.key: "),
        ("K.key", "\x00\xff{", "K.key: "),
        ("K.private", "", "expected a private key of algorithm 15, found none"),
        ("K.private", "Algorithm: 13 (ECDSAP256SHA256)\n", "expected a private key of algorithm 15, found 13"),
        ("K.private", "Algorithm: 15 (ED25519)\n", "expected a line 'privatekey'"),
        ("K.private", "Algorithm: 15 (ED25519)\nPrivateKey: ??\n", "privatekey: expected base64"),
        ("K.private", "Algorithm: 15 (ED25519)\nPrivateKey: AAAA\n", "K.private: "),
    ],
)
def test_what_is_refused(tmp_path: Path, file: str, text: str, error: str) -> None:
    write_pair(tmp_path)
    (tmp_path / file).write_text(text, encoding="latin-1")
    with pytest.raises(KeyFileError, match=error.replace("?", r"\?")):
        read_key(str(tmp_path / "K"))


def test_halves_of_two_pairs(tmp_path: Path) -> None:
    write_pair(tmp_path, "A")
    write_pair(tmp_path, "K")
    (tmp_path / "A.private").rename(tmp_path / "K.private")
    with pytest.raises(KeyFileError, match="does not belong to the DNSKEY"):
        read_key(str(tmp_path / "K"))
