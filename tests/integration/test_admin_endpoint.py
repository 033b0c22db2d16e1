"""The admin endpoint and its commands against the real process."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import urllib.error
from pathlib import Path

import pytest

from support.apiserver import ApiServer
from support.process import ServerProcess, ask, free_port, get, run, serving

COREFILE = """\
import custom/*.conf
.:{port} {{
    bind 127.0.0.1
    waypost {{
        admin 127.0.0.1:{admin}
    }}
    cache 300
    template IN A example.org {{
        answer "{{{{ .Name }}}} 60 IN A 192.0.2.1"
    }}
    template IN ANY . {{
        rcode NXDOMAIN
        authority "org. 60 IN SOA ns.org. admin.org. 1 60 60 60 60"
    }}
}}
"""
SNIPPET = "{zone}:{port} {{\n    bind 127.0.0.1\n    whoami\n}}\n"


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def admin() -> int:
    return free_port()


def waypost(admin: int, *words: str) -> str:
    """What a command prints."""
    done = run(*words, "--admin", f"127.0.0.1:{admin}")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_is_cached_is_listed_and_flushed(tmp_path: Path, port: int, admin: int) -> None:
    with serving(tmp_path, COREFILE.format(port=port, admin=admin), port) as process:
        for name in ("www.example.org.", "a.b.example.org.", "gone.org."):
            ask(port, name)
        entries = json.loads(waypost(admin, "cache", "list", "-o", "json"))
        assert [(entry["name"], entry["kind"], entry["rcode"]) for entry in entries] == [
            ("a.b.example.org.", "success", "NOERROR"),
            ("gone.org.", "denial", "NXDOMAIN"),
            ("www.example.org.", "success", "NOERROR"),
        ]
        table = waypost(admin, "cache", "list", "WWW.Example.ORG").splitlines()
        assert [line.split()[:4] for line in table] == [
            ["NAME", "TYPE", "RCODE", "KIND"],
            ["www.example.org.", "A", "NOERROR", "success"],
        ]
        assert waypost(admin, "cache", "flush", "gone.org.") == "1 entry flushed\n"
        assert waypost(admin, "cache", "flush", "--zone", "b.example.org") == "1 entry flushed\n"
        assert waypost(admin, "cache", "flush") == "1 entry flushed\n"
        assert waypost(admin, "cache", "list") == ""
        assert process.stop() == 0
        assert process.errors == []
    done = run("cache", "list", "--admin", f"127.0.0.1:{admin}")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)


def test_which_configuration_runs(tmp_path: Path, port: int, admin: int) -> None:
    """B127: added, changed and removed imports, and a folder swapped like a ConfigMap's, are loaded and shown."""
    other = free_port()
    for number in (1, 2):
        folder = tmp_path / f"data{number}"
        folder.mkdir()
        for zone in "ab"[:number]:
            (folder / f"{zone}.conf").write_text(SNIPPET.format(zone=f"{zone}{number}.org", port=other))
    custom = tmp_path / "custom"
    custom.symlink_to("data1")

    def shown() -> tuple[list[str], list[str]]:
        facts = json.loads(waypost(admin, "config", "-o", "json"))
        assert facts["servers"][-1] == {"address": f"dns://127.0.0.1:{port}", "zones": ["."]}
        return [Path(file).name for file in facts["files"]], [
            zone for server in facts["servers"][:-1] for zone in server["zones"]
        ]

    with serving(tmp_path, COREFILE.format(port=port, admin=admin), port) as process:
        assert shown() == (["Corefile", "a.conf"], ["a1.org."])
        first = json.loads(get(admin, "/config"))
        assert len(first["sha512"]) == len(hashlib.sha512().hexdigest())
        steps = [
            (lambda: (tmp_path / "new").symlink_to("data2"), ["a1.org."]),
            (lambda: os.replace(tmp_path / "new", custom), ["a2.org.", "b2.org."]),
            (lambda: (custom / "b.conf").write_text(SNIPPET.format(zone="c.org", port=other)), ["a2.org.", "c.org."]),
            (lambda: (custom / "a.conf").unlink(), ["c.org."]),
        ]
        digests = [first["sha512"]]
        for count, (change, zones) in enumerate(steps, 1):
            change()
            process.kill(signal.SIGUSR1)
            process.says("[INFO] Reloading complete", times=count)
            files, served = shown()
            assert served == zones
            assert files == ["Corefile", *sorted(path.name for path in custom.iterdir())]
            digests.append(json.loads(get(admin, "/config"))["sha512"])
        assert digests[0] == digests[1]
        assert len(set(digests)) == len(digests) - 1
        assert process.stop() == 0


def test_the_built_in_configuration_has_no_admin_endpoint(tmp_path: Path, port: int) -> None:
    with ServerProcess(["-dns.port", str(port)], cwd=tmp_path) as process:
        process.serving(port)
        assert run("config").returncode == 1


def test_ready_says_no_while_the_api_server_is_silent(tmp_path: Path, port: int) -> None:
    ready = free_port()

    def answer() -> str:
        try:
            return get(ready, "/ready")
        except urllib.error.HTTPError as error:
            return f"{error.code} {error.read().decode()}"

    with ApiServer(bookmark_every=3600.0) as api:
        text = (
            f".:{port} {{\n    waypost {{\n        ready_max_age 500ms\n    }}\n    ready 127.0.0.1:{ready}\n"
            f"    kubernetes cluster.local {{\n        endpoint {api.url}\n    }}\n}}\n"
        )
        with serving(tmp_path, text, port) as process:
            process.until(lambda: answer() == "503 kubernetes", "503 while nothing is heard")
            api.store.bookmark_every = 0.05
            process.until(lambda: answer() == "OK", "OK after a sign of life")
            api.fault(freeze=True)
            process.until(lambda: answer() == "503 kubernetes", "503 once it is silent again")
            assert process.stop() == 0
