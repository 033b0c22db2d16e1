"""The life of a real process: start, signals, end; and what it says and gives back at each."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import dns.rcode
import pytest

from support.process import ServerProcess, ask, free_port, is_listening, run, serving

WHOAMI = ".:{port} {{\n    whoami\n}}\n"
SLOW = ".:{port} {{\n    erratic {{\n        delay 1 {delay}\n    }}\n}}\n"
WAITING = (
    ".:{port} {{\n    whoami\n    kubernetes cluster.local {{\n        endpoint http://127.0.0.1:{api}\n    }}\n}}\n"
)


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def server(tmp_path: Path, port: int) -> Iterator[ServerProcess]:
    with serving(tmp_path, WHOAMI.format(port=port), port) as process:
        yield process


class TestBanner:
    def test_zones_then_version(self, tmp_path: Path, port: int) -> None:
        text = f"b.org:{port} a.org:{port} {{\n    whoami\n}}\nc.org:{port} {{\n    bind 127.0.0.1\n    whoami\n}}\n"
        with serving(tmp_path, text, port) as process:
            process.says("linux/")
            zones = process.lines[:-2]
            assert [line for line in zones if " on " not in line] == [f"a.org.:{port}", f"b.org.:{port}"]
            assert [line for line in zones if " on " in line] == [f"c.org.:{port} on 127.0.0.1"]
            assert process.lines[-2].startswith("Waypost-")
            assert process.lines[-1].startswith("linux/")
            assert process.errors == []

    def test_quiet_prints_none(self, tmp_path: Path, port: int) -> None:
        with serving(tmp_path, WHOAMI.format(port=port), port, "-quiet") as process:
            assert process.stop() == 0
            assert process.lines == ["[INFO] SIGTERM: Shutting down servers then terminating"]


class TestConfiguration:
    def test_standard_input_survives_a_reload(self, port: int) -> None:
        text = WHOAMI.format(port=port).replace(".:", "a.org:")
        with ServerProcess(["-conf", "stdin"], stdin=text) as process:
            process.serving(port).kill(signal.SIGUSR1)
            process.says("Reloading complete")
            assert ask(port, "x.a.org.").rcode() == dns.rcode.NOERROR
            assert ask(port, "x.b.org.").rcode() == dns.rcode.REFUSED

    @pytest.mark.parametrize("flags", [("-dns.port", "{}"), ("-p={}",), ("--p", "1", "--dns.port={}")])
    def test_without_corefile_the_built_in_one_on_the_port_given(
        self, tmp_path: Path, port: int, flags: tuple[str, ...]
    ) -> None:
        with ServerProcess([flag.format(port) for flag in flags], cwd=tmp_path) as process:
            process.serving(port)
            assert len(ask(port).additional) == 2
            process.says("[INFO] 127.0.0.1:")
            assert f".:{port}" in process.lines

    def test_corefile_of_the_working_directory(self, tmp_path: Path, port: int) -> None:
        (tmp_path / "Corefile").write_text(f"a.org {{\n    whoami\n}}\nb.org:{port} {{\n    whoami\n}}\n")
        with ServerProcess(["-dns.port", str(port)], cwd=tmp_path) as process:
            process.serving(port)
            assert ask(port, "a.org.").rcode() == ask(port, "b.org.").rcode() == dns.rcode.NOERROR

    def test_pidfile_is_there_while_it_runs(self, tmp_path: Path, port: int) -> None:
        pidfile = tmp_path / "pid"
        with serving(tmp_path, WHOAMI.format(port=port), port, "-pidfile", str(pidfile)) as process:
            process.until(pidfile.exists, "pidfile")
            process.until(lambda: pidfile.read_text() == f"{process.pid}\n", "pid in the pidfile")
            assert pidfile.stat().st_mode & 0o777 == 0o644
            assert process.stop() == 0
        assert not pidfile.exists()

    def test_pidfile_that_cannot_be_written_is_no_reason_to_stop(self, tmp_path: Path, port: int) -> None:
        with serving(tmp_path, WHOAMI.format(port=port), port, "-pidfile", "/nowhere/pid") as process:
            process.says("[ERROR] Could not write pidfile: open /nowhere/pid: no such file or directory")
            assert process.stop() == 0

    def test_nothing_to_serve_ends_at_once(self, tmp_path: Path) -> None:
        (tmp_path / "Corefile").write_text("unix:///run/x {\n    whoami\n}\n")
        done = run("-conf", "Corefile", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("Waypost-")


class TestStartFailures:
    @pytest.mark.parametrize(
        ("corefile", "error"),
        [
            (".:{port} {{\n    foo\n}}\n", "Corefile:2 - Error during parsing: Unknown directive 'foo'"),
            (".:{port} {{\n    whoami\n", "Corefile:2 - Syntax error: Unexpected token 'whoami', expecting '}'"),
            (".:{port} {{\n    erratic {{\n", "Corefile:2 - Error during parsing: Unexpected EOF"),
            (".:{port} {{\n    whoami x\n}}\n", "plugin/whoami: Corefile:2 - Error during parsing: Wrong argument"),
            (
                ".:{port} {{\n    bind 192.0.2.77\n    whoami\n}}\n",
                "ListenPacket: listen udp 192.0.2.77:{port}: bind: cannot assign requested address",
            ),
            (
                "a.org:{port} {{\n    bind 0.0.0.0\n    whoami\n}}\nb.org:{port} {{\n    whoami\n}}\n",
                "cannot serve dns://:{port} - dns://0.0.0.0:{port} listens there with other zones",
            ),
            (
                "a.org:{port} {{\n    whoami\n}}\ntls://b.org:{port} {{\n    whoami\n}}\n",
                "cannot serve tls://:{port} - dns://:{port} listens there with other zones",
            ),
        ],
        ids=["directive", "brace", "plugin brace", "argument", "not on host", "wildcards", "schemes"],
    )
    def test_exit_1_with_the_reason_and_nothing_listens(
        self, tmp_path: Path, port: int, corefile: str, error: str
    ) -> None:
        (tmp_path / "Corefile").write_text(corefile.format(port=port))
        done = run("-conf", "Corefile", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith(error.format(port=port) if "{port}" in error else error), done.stderr
        assert not is_listening(port)

    @pytest.mark.parametrize(
        ("kind", "error"),
        [
            (socket.SOCK_DGRAM, "ListenPacket: listen udp 127.0.0.1:{}: bind: address already in use"),
            (socket.SOCK_STREAM, "Listen: listen tcp 127.0.0.1:{}: bind: address already in use"),
        ],
        ids=["udp", "tcp"],
    )
    def test_address_in_use(self, tmp_path: Path, kind: socket.SocketKind, error: str) -> None:
        with socket.socket(socket.AF_INET, kind) as sock:
            sock.bind(("127.0.0.1", 0))
            if kind == socket.SOCK_STREAM:
                sock.listen()
            port = sock.getsockname()[1]
            (tmp_path / "Corefile").write_text(f".:{port} {{\n    bind 127.0.0.1\n    whoami\n}}\n")
            done = run("-conf", "Corefile", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (1, error.format(port) + "\n")

    def test_missing_file(self) -> None:
        done = run("-conf", "/nowhere/Corefile")
        text = "loading Caddyfile via flag: open /nowhere/Corefile: no such file or directory\n"
        assert (done.returncode, done.stderr) == (1, text)

    @pytest.mark.parametrize("size", [8, 12, 41, 66])
    def test_a_truncated_file_ends_quickly_with_its_place(self, tmp_path: Path, port: int, size: int) -> None:
        """B125"""
        text = "(sn) {\n  log\n}\n.:1053 {\n  import sn\n  erratic {\n    delay 1 1ms\n  }\n"
        (tmp_path / "Corefile").write_text(text[:size])
        done = run("-conf", "Corefile", cwd=tmp_path)
        assert done.returncode == 1
        assert done.stderr.startswith("Corefile:"), done.stderr
        assert "Traceback" not in done.stderr


class TestSignals:
    def test_terminate(self, server: ServerProcess, port: int) -> None:
        assert server.stop() == 0
        assert server.lines[-1] == "[INFO] SIGTERM: Shutting down servers then terminating"
        assert server.errors == []
        assert not is_listening(port)

    def test_interrupt(self, server: ServerProcess) -> None:
        assert server.stop(signal.SIGINT) == 0
        assert server.lines[-1] == "[INFO] SIGINT: Shutting down"
        assert server.errors == []

    def test_quit(self, server: ServerProcess) -> None:
        assert server.stop(signal.SIGQUIT) == 0
        assert server.lines[-1] == "[INFO] SIGQUIT: Quitting process immediately"
        assert server.errors == []

    def test_hang_up_is_ignored(self, server: ServerProcess, port: int) -> None:
        for _ in range(3):
            server.kill(signal.SIGHUP)
            assert ask(port).rcode() == dns.rcode.NOERROR
        assert server.alive

    def test_upgrade_is_refused(self, server: ServerProcess, port: int) -> None:
        server.kill(signal.SIGUSR2)
        server.says("[WARNING] SIGUSR2: ")
        assert ask(port).rcode() == dns.rcode.NOERROR

    @pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
    def test_the_second_interrupt_does_not_wait(self, tmp_path: Path, port: int, first: signal.Signals) -> None:
        text = f".:{port} {{\n    whoami\n    health 127.0.0.1:{free_port()} {{\n        lameduck 30s\n    }}\n}}\n"
        with serving(tmp_path, text, port) as process:
            process.kill(first)
            process.says("Going into lameduck mode for 30s")
            assert ask(port).rcode() == dns.rcode.NOERROR
            if first == signal.SIGTERM:
                process.kill(signal.SIGINT)
                process.says("SIGINT: Shutting down")
                assert process.alive
            assert process.stop(signal.SIGINT) == 2
            assert process.lines[-1] == "[INFO] SIGINT: Force quit"
            assert process.errors == []

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT])
    def test_while_it_starts(self, tmp_path: Path, port: int, number: signal.Signals) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent_api:
            silent_api.settimeout(5)
            text = WAITING.format(port=port, api=silent_api.getsockname()[1])
            (tmp_path / "Corefile").write_text(text)
            with ServerProcess(["-conf", "Corefile"], cwd=tmp_path) as process:
                connection, _ = silent_api.accept()
                with connection:
                    assert process.stop(number) == 0
                assert process.errors == []
                assert not any(line.startswith(".:") for line in process.lines)

    def test_a_reader_of_the_log_that_went_away(self, tmp_path: Path, port: int) -> None:
        log = tmp_path / "log"
        os.mkfifo(log)
        reader = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
        writer = os.open(log, os.O_WRONLY)
        (tmp_path / "Corefile").write_text(f".:{port} {{\n    log\n    whoami\n}}\n")
        with ServerProcess(["-conf", "Corefile"], cwd=tmp_path, stdout=writer) as process:
            os.close(writer)
            process.serving(port)
            os.close(reader)
            for _ in range(3):
                assert ask(port).rcode() == dns.rcode.NOERROR
            assert process.stop() == 0
            assert process.errors == []


class TestListeners:
    def test_other_zones_bound_and_unbound_on_one_port(self, tmp_path: Path, port: int) -> None:
        text = f"a.org:{port} {{\n    bind 127.0.0.1\n    whoami\n}}\n.:{port} {{\n    whoami\n}}\n"
        with serving(tmp_path, text, port):
            for tcp in (False, True):
                assert ask(port, "x.a.org.", tcp=tcp).rcode() == dns.rcode.NOERROR
                assert ask(port, "x.b.org.", tcp=tcp).rcode() == dns.rcode.REFUSED
                assert ask(port, "x.b.org.", host="127.0.0.2", tcp=tcp).rcode() == dns.rcode.NOERROR

    @pytest.mark.parametrize("host", ["0.0.0.0", "::", "0.0.0.0 ::"])
    def test_a_wildcard_is_every_address_of_both_families(self, tmp_path: Path, port: int, host: str) -> None:
        with serving(tmp_path, f".:{port} {{\n    bind {host}\n    whoami\n}}\n", port):
            for asked in ("127.0.0.1", "127.0.0.2", "::1"):
                for tcp in (False, True):
                    assert ask(port, host=asked, tcp=tcp).rcode() == dns.rcode.NOERROR

    def test_two_processes_on_one_port(self, tmp_path: Path, port: int) -> None:
        with (
            serving(tmp_path, WHOAMI.format(port=port), port) as first,
            ServerProcess(["-conf", "Corefile"], cwd=tmp_path) as second,
        ):
            second.says("Waypost-")
            assert first.stop() == 0
            second.serving(port)
            for tcp in (False, True):
                assert ask(port, tcp=tcp).rcode() == dns.rcode.NOERROR
            assert second.stop() == 0
