"""The etcd plugin of the real process against a real etcd, where one is installed: keys, leases, users, and its end."""

from __future__ import annotations

import json
import shutil
import urllib.request
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dns.rcode
import pytest

from support.asking import texts
from support.envtest import Program
from support.process import ask, free_port, serving

pytestmark = pytest.mark.skipif(shutil.which("etcd") is None, reason="needs the program etcd (Debian: etcd-server)")

COREFILE = """\
skydns.local:{port} {{
    etcd {{
        endpoint http://127.0.0.1:{etcd}
        {options}
    }}
    errors
}}
"""


class Etcd:
    """A real etcd on loopback."""

    def __init__(self, folder: Path) -> None:
        self.port, peers = free_port(), free_port()
        url = f"http://127.0.0.1:{self.port}"
        command: list[str | Path] = [
            "etcd",
            "--name=only",
            f"--data-dir={folder / 'etcd'}",
            f"--listen-client-urls={url}",
            f"--advertise-client-urls={url}",
            f"--listen-peer-urls=http://127.0.0.1:{peers}",
            f"--initial-advertise-peer-urls=http://127.0.0.1:{peers}",
            f"--initial-cluster=only=http://127.0.0.1:{peers}",
        ]
        self.program = Program(command, folder / "etcd.log")
        self.program.until(self._is_well)

    def _is_well(self) -> bool:
        try:
            return bool(self.post("/v3/maintenance/status", {}))
        except OSError:
            return False

    def post(self, target: str, request: Any) -> Any:
        url = f"http://127.0.0.1:{self.port}{target}"
        with urllib.request.urlopen(url, json.dumps(request).encode(), timeout=3) as response:
            return json.load(response)

    def put(self, key: str, lease: int = 0, **value: Any) -> None:
        encoded = [b64encode(text.encode()).decode() for text in (key, json.dumps(value))]
        self.post("/v3/kv/put", {"key": encoded[0], "value": encoded[1], "lease": lease})

    def lease(self, seconds: int) -> int:
        return int(self.post("/v3/lease/grant", {"TTL": seconds})["ID"])

    def want_password(self, user: str, password: str) -> None:
        """Nobody is let in any more but a user with every right."""
        for name, secret in (("root", "r"), (user, password)):
            self.post("/v3/auth/user/add", {"name": name, "password": secret})
            self.post("/v3/auth/user/grant", {"user": name, "role": "root"})
        self.post("/v3/auth/enable", {})


@pytest.fixture
def etcd(tmp_path: Path) -> Iterator[Etcd]:
    made = Etcd(tmp_path)
    try:
        made.put("/skydns/local/skydns/web/a", host="192.0.2.1", port=80, ttl=60)
        made.put("/skydns/local/skydns/web/b", host="192.0.2.2", port=80, ttl=60)
        yield made
    finally:
        made.program.stop()


WEB = ["web.skydns.local. 60 A 192.0.2.1", "web.skydns.local. 60 A 192.0.2.2"]


def test_keys_leases_and_the_end_of_etcd(tmp_path: Path, etcd: Etcd) -> None:
    etcd.put("/skydns/local/skydns/leased", etcd.lease(500), host="192.0.2.3", ttl=3600)
    port = free_port()
    with serving(tmp_path, COREFILE.format(port=port, etcd=etcd.port, options="max-lease-ttl 100"), port) as process:
        assert texts(ask(port, "web.skydns.local.").answer) == WEB
        assert texts(ask(port, "web.skydns.local.", "SRV").answer) == [
            f"web.skydns.local. 60 SRV 10 50 80 {host}.web.skydns.local." for host in "ab"
        ]
        assert texts(ask(port, "*.skydns.local.").answer) == [
            f"*.skydns.local. 60 A 192.0.2.{number}" for number in (1, 2, 3)
        ]
        assert texts(ask(port, "leased.skydns.local.").answer) == ["leased.skydns.local. 100 A 192.0.2.3"]
        assert ask(port, "none.skydns.local.").rcode() == dns.rcode.NXDOMAIN
        assert ask(port, "web.skydns.local.", "CNAME").rcode() == dns.rcode.NOERROR
        etcd.put("/skydns/local/skydns/web/c", host="192.0.2.9", ttl=60)
        assert len(texts(ask(port, "web.skydns.local.").answer)) == 3
        etcd.program.stop()
        assert ask(port, "web.skydns.local.").rcode() == dns.rcode.SERVFAIL
        process.says("connection refused")
        assert process.stop() == 0
    assert process.errors == []


def test_users(tmp_path: Path, etcd: Etcd) -> None:
    etcd.want_password("dns", "secret")
    port = free_port()
    corefile = COREFILE.format(port=port, etcd=etcd.port, options="credentials dns secret")
    with serving(tmp_path, corefile, port) as process:
        assert texts(ask(port, "web.skydns.local.").answer) == WEB
        assert process.stop() == 0
    port = free_port()
    with serving(tmp_path, COREFILE.format(port=port, etcd=etcd.port, options=""), port) as process:
        assert ask(port, "web.skydns.local.").rcode() == dns.rcode.SERVFAIL
        process.says("user name is empty")
