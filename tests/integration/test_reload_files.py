"""Reloads by signal and by the reload plugin: what changes, what stays, what is said and counted."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import dns.rcode
import pytest

from support.process import ServerProcess, ask, free_port, get, serving

BLOCK = "{zone}:{port} {{\n    erratic {{\n        drop 0\n    }}\n}}\n"


@pytest.fixture
def port() -> int:
    return free_port()


def block(zone: str, port: int) -> str:
    return BLOCK.format(zone=zone, port=port)


def served(port: int, zone: str) -> bool:
    return ask(port, f"x.{zone}.").rcode() == dns.rcode.NOERROR


def failures(metrics: int) -> float:
    """The value of the counter of failed reloads."""
    lines = get(metrics, "/metrics").splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("coredns_reload_failed_total"))


class TestBySignal:
    def test_the_new_configuration_answers(self, tmp_path: Path, port: int) -> None:
        with serving(tmp_path, block("a.org", port), port) as process:
            (tmp_path / "Corefile").write_text(block("b.org", port))
            process.kill(signal.SIGUSR1)
            process.says("[INFO] Reloading complete")
            assert not served(port, "a.org")
            assert served(port, "b.org")
            assert process.lines[-3:] == ["[INFO] SIGUSR1: Reloading", "[INFO] Reloading", "[INFO] Reloading complete"]

    def test_a_failed_one_changes_nothing_but_the_count(self, tmp_path: Path, port: int) -> None:
        """B120: a failed reload ended the metrics endpoint, and was not counted."""
        metrics = free_port()
        text = block("a.org", port).replace("erratic", f"prometheus 127.0.0.1:{metrics}\n    erratic")
        with serving(tmp_path, text, port) as process:
            sockets = process.sockets()
            assert failures(metrics) == 0
            bound = f"b.org:{port} {{\n    bind 192.0.2.7\n    whoami\n}}\n"
            parsing = "[ERROR] SIGUSR1: loading updated Caddyfile: "
            setup = "[ERROR] SIGUSR1: starting with listener file descriptors: "
            broken = {
                parsing + "Corefile:2 - Error during parsing: Unknown directive 'foo'": "a.org {\n  foo\n}\n",
                parsing + "Corefile is missing or has no server block": "# nothing\n",
                setup + "plugin/whoami: Corefile:2": "a.org {\n  whoami x\n}\n",
                setup + "ListenPacket: listen udp 192.0.2.7": text + bound,
            }
            for count, (error, content) in enumerate(broken.items(), 1):
                (tmp_path / "Corefile").write_text(content)
                process.kill(signal.SIGUSR1)
                process.says(error)
                process.until(lambda count=count: failures(metrics) == count, f"{count} counted failures")
                assert served(port, "a.org")
            (tmp_path / "Corefile").unlink()
            process.kill(signal.SIGUSR1)
            process.says(
                "[ERROR] SIGUSR1: loading updated Caddyfile: loading Caddyfile via flag: open Corefile: no such"
            )
            assert served(port, "a.org")
            assert len(process.sockets()) <= len(sockets) + 1  # one of our own HTTP connections
            (tmp_path / "Corefile").write_text(text.replace("a.org", "b.org"))
            process.kill(signal.SIGUSR1)
            process.says("[INFO] Reloading complete")
            assert served(port, "b.org")
            assert failures(metrics) == len(broken) + 1
            assert process.stop() == 0
            assert process.errors == []

    def test_without_a_file_before_and_after(self, tmp_path: Path, port: int) -> None:
        with ServerProcess(["-p", str(port)], cwd=tmp_path) as process:
            process.serving(port).kill(signal.SIGUSR1)
            process.says("[INFO] Reloading complete")
            assert served(port, "a.org")

    def test_a_corefile_of_the_working_directory_that_vanished(self, tmp_path: Path, port: int) -> None:
        (tmp_path / "Corefile").write_text(block("a.org", port))
        with ServerProcess(["-p", str(port)], cwd=tmp_path) as process:
            process.serving(port)
            (tmp_path / "Corefile").unlink()
            process.kill(signal.SIGUSR1)
            process.says("[ERROR] SIGUSR1: loading updated Caddyfile: Corefile is missing or has no server block")
            assert not served(port, "b.org")
            assert served(port, "a.org")


class ConfigMap:
    """A folder as the kubelet mounts a ConfigMap: each name a link through `..data`, which is swapped in one step."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._version = 0
        folder.mkdir()

    def write(self, files: dict[str, str]) -> None:
        self._version += 1
        version = self.folder / f"..v{self._version}"
        version.mkdir()
        for name, text in files.items():
            (version / name).write_text(text)
        swap = self.folder / "..data_tmp"
        swap.symlink_to(version.name)
        os.rename(swap, self.folder / "..data")
        for name in files:
            if not (self.folder / name).is_symlink():
                (self.folder / name).symlink_to(f"..data/{name}")
        for link in self.folder.iterdir():
            if not link.name.startswith("..") and link.name not in files:
                link.unlink()


def test_by_change_of_files(tmp_path: Path, port: int) -> None:
    """B127, B120, B122: one process over many changes, because a look at the files comes only every two seconds."""
    metrics = free_port()
    custom = ConfigMap(tmp_path / "custom")
    custom.write({"b.server": block("b.org", port)})
    main = block("a.org", port).replace("erratic", f"reload 2s 0s\n    prometheus 127.0.0.1:{metrics}\n    erratic")
    main += f"import {custom.folder}/*.server\n"
    with serving(tmp_path, main, port) as process:
        process.says("[INFO] plugin/reload: Running configuration SHA512 = ")
        assert served(port, "b.org")

        custom.write({"c.server": block("c.org", port)})
        process.until(lambda: served(port, "c.org"), "the added file")
        assert not served(port, "b.org")
        assert "coredns_reload_version_info{" in get(metrics, "/metrics")
        assert failures(metrics) == 0

        custom.write({"c.server": "c.org {\n"})
        process.says("[WARNING] plugin/reload: Corefile parse failed: ")
        custom.write({"c.server": block("c.org", port).replace("drop", "drip")})
        process.says("[ERROR] plugin/reload: Corefile changed but reload failed: plugin/erratic: ")
        assert failures(metrics) == 2
        assert served(port, "c.org")

        custom.write({"d.server": block("d.org", port)})
        process.until(lambda: served(port, "d.org"), "the repaired configuration")
        assert served(port, "a.org")
        assert process.stop() == 0
        assert process.errors == []
        assert [line for line in process.lines if "[ERROR]" in line and "drip" not in line] == []
