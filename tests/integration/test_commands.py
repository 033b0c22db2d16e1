"""The command line: CoreDNS's flags, and our own commands with their exit codes. No bad word gives a traceback."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import dns.rdatatype
import pytest

from support.process import COMMAND, ServerProcess, ask, free_port, run, serving
from waypost import __version__
from waypost.cli.example import COREFILE
from waypost.plugins.order import ORDER

GOOD = ".:{port} {{\n    whoami\n}}\n"


@pytest.fixture
def port() -> int:
    return free_port()


class TestFlags:
    def test_version(self) -> None:
        done = run("-version")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.splitlines()[0] == f"Waypost-{__version__}"
        assert len(done.stdout.splitlines()) == 2

    def test_plugins(self) -> None:
        done = run("-plugins")
        assert (done.returncode, done.stderr) == (0, "")
        names = done.stdout.removesuffix("\n\n").split("\n")
        assert names == sorted(names, key=lambda name: (name == "dns.on", name))
        assert {"dns.whoami", "dns.forward", "dns.kubernetes"} <= set(names) <= {f"dns.{name}" for name in ORDER}

    @pytest.mark.parametrize("words", [["-help"], ["-h"], ["--help"], ["help"]])
    def test_help(self, words: list[str]) -> None:
        done = run(*words)
        assert done.returncode == 0
        assert "sage" in done.stdout + done.stderr

    @pytest.mark.parametrize(
        ("words", "code", "error"),
        [
            (["-foo"], 2, "flag provided but not defined: -foo\nUsage of waypost:\n"),
            (["--foo=1", "-conf", "x"], 2, "flag provided but not defined: -foo\nUsage"),
            (["-conf"], 2, "flag needs an argument: -conf\nUsage"),
            (["-quiet=maybe"], 2, 'invalid boolean value "maybe" for -quiet: parse error\nUsage'),
            (["-p", "nosuchservice"], 1, "lookup tcp/nosuchservice: unknown port\n"),
            (["-p", ""], 1, "lookup tcp/: unknown port\n"),
            (["-p", "-5"], 1, "lookup tcp/-5: unknown port\n"),
            (["-p", "\N{SUPERSCRIPT TWO}"], 1, "lookup tcp/\N{SUPERSCRIPT TWO}: unknown port\n"),
            (["-p", "65536"], 1, "address 65536: invalid port\n"),
            (["bar"], 2, "waypost: no command 'bar'\n"),
            (["check"], 2, "usage: waypost check"),
            (["check", "a", "-o", "yaml"], 2, "usage: waypost check"),
            (["fmt", "-w"], 2, "usage: waypost fmt"),
            (["completion", "csh"], 2, "usage: waypost completion"),
            (["check", "a", "--port", "x y"], 2, "usage: waypost check"),
            (["version", "x"], 2, "usage: waypost version"),
            (["plugins", "x"], 2, "usage: waypost plugins"),
            (["serve", "x"], 2, "usage: waypost serve"),
            (["serve", "--listen", "localhost:53"], 2, "usage: waypost serve"),
            (["serve", "--listen", "127.0.0.1"], 2, "usage: waypost serve"),
            (["serve", "--port", "65536"], 2, "usage: waypost serve"),
            (["serve", "--conf", "/nowhere"], 1, "loading Caddyfile via flag: open /nowhere: no such file"),
            (["-conf", "/"], 1, "loading Caddyfile via flag: "),
            (["-conf", "/dev/null/x"], 1, "loading Caddyfile via flag: open /dev/null/x: not a directory"),
        ],
        ids=lambda value: " ".join(value) if isinstance(value, list) else None,
    )
    def test_bad_words(self, words: list[str], code: int, error: str) -> None:
        done = run(*words)
        assert (done.returncode, done.stdout) == (code, "")
        assert done.stderr.startswith(error), done.stderr
        assert "Traceback" not in done.stderr

    def test_extra_words(self) -> None:
        done = run("-quiet", "foo", "bar")
        assert (done.returncode, done.stdout) == (1, "")
        assert re.fullmatch(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d extra command line arguments: \[foo bar\]\n", done.stderr)


class TestCheck:
    def test_good(self, tmp_path: Path, port: int) -> None:
        (tmp_path / "Corefile").write_text(GOOD.format(port=port))
        with serving(tmp_path, GOOD.format(port=port).replace(".:", "a.org:"), port):  # a taken port is no matter
            done = run("check", "Corefile", cwd=tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (0, "Corefile: no errors\n", "")

    @pytest.mark.parametrize("word", ["-", "stdin"])
    def test_standard_input(self, word: str) -> None:
        done = run("check", word, text="a.org {\n    whoami\n    foo\n}\n")
        assert (done.returncode, done.stderr) == (1, "")
        assert done.stdout == "/dev/stdin:3:5: error: Unknown directive 'foo'\n/dev/stdin: 1 error\n"

    def test_every_kind_of_error_is_1(self, tmp_path: Path) -> None:
        for text, error in {
            ". {\n    whoami x\n}\n": "Corefile:2:12: error: plugin/whoami: ",
            ".:x: {\n    whoami\n}\n": "Corefile:1:1: error: error inspecting server blocks: ",
            ". {\n    whoami\n}\n. {\n    whoami\n}\n": "Corefile:4:1: error: cannot serve dns://.:53 - it is already",
        }.items():
            (tmp_path / "Corefile").write_text(text)
            done = run("check", "Corefile", cwd=tmp_path)
            assert (done.returncode, done.stderr) == (1, "")
            assert done.stdout.startswith(error), done.stdout

    def test_advice_is_no_error_unless_strict(self, tmp_path: Path) -> None:
        (tmp_path / "Corefile").write_text(". {\n    whoami\n    debug # waypost: ignore W101\n}\n")
        assert run("check", "Corefile", cwd=tmp_path).returncode == 0
        done = run("check", "--strict", "Corefile", cwd=tmp_path)
        assert done.returncode == 1
        assert done.stdout.startswith("Corefile:3:5: warning W509: `debug` is on\n    A fault in a plugin")
        assert done.stdout.endswith("\nCorefile: no errors, 1 warning\n")

    def test_several_files_and_a_configmap(self, tmp_path: Path) -> None:
        (tmp_path / "Corefile").write_text(GOOD.format(port=53))
        (tmp_path / "cm.yaml").write_text("kind: ConfigMap\ndata:\n  Corefile: |\n    . {\n        foo\n    }\n")
        done = run("check", "-o", "github", "Corefile", "cm.yaml", "nowhere", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (1, "")
        assert done.stdout.splitlines() == [
            "::error file=cm.yaml,line=5,col=9::Unknown directive 'foo'",
            "::error file=nowhere::open nowhere: no such file or directory",
        ]

    def test_opens_no_socket(self, tmp_path: Path) -> None:
        """The stock Corefile, with an interpreter that refuses sockets."""
        code = (
            "import sys\n"
            "def hook(event, args):\n"
            "    if event.startswith('socket.') and event != 'socket.__new__': raise SystemExit(f'{event} {args}')\n"
            "sys.addaudithook(hook)\n"
            "from waypost.cli.main import main\n"
            "sys.exit(main(sys.argv[1:]))\n"
        )
        words = [COMMAND[0], "-c", code, "check", str(COREFILE)]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=10)
        assert done.returncode == 0, done.stderr


class TestServe:
    def test_example_answers_what_it_proposes(self, tmp_path: Path, port: int) -> None:
        """The bundled cluster and Corefile, on ports that are free here, and without the machine's resolvers."""
        text = COREFILE.read_text().replace("prometheus :9153", f"prometheus localhost:{free_port()}")
        text = text.replace("health {", f"health localhost:{free_port()} {{").replace("lameduck 5s", "lameduck 1ms")
        text = text.replace("ready\n", f"ready localhost:{free_port()}\n").replace("/etc/resolv.conf", "127.0.0.1:9")
        (tmp_path / "Corefile").write_text(text)
        words = ["serve", "--example", "--conf", "Corefile", "--listen", f"127.0.0.1:{port}"]
        with ServerProcess(words, cwd=tmp_path) as process:
            process.serving(port)
            process.says("dig @127.0.0.1", times=3)
            for line in process.lines:
                if line.startswith("dig "):
                    command = shlex.split(line, comments=True)
                    assert command[1:4] == ["@127.0.0.1", "-p", str(port)]
                    answer = ask(port, command[4], command[5]).answer
                    assert [rrset.rdtype for rrset in answer] == [dns.rdatatype.from_text(command[5])]
            assert process.stop() == 0
            assert process.errors == []

    def test_manifests_and_listen(self, tmp_path: Path, port: int) -> None:
        (tmp_path / "web.yaml").write_text(
            "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\n"
            "spec: {clusterIP: 10.96.0.7, ports: [{name: http, port: 80}]}\n"
        )
        (tmp_path / "Corefile").write_text(". {\n    kubernetes cluster.local\n}\n")
        words = ["serve", "--conf", "Corefile", "--manifests", "web.yaml", "--listen", f"[::1]:{port}", "--quiet"]
        with ServerProcess(words, cwd=tmp_path) as process:
            process.serving(port, "::1")
            answer = ask(port, "web.shop.svc.cluster.local.", host="::1").answer
            assert [rdata.address for rdata in answer[0]] == ["10.96.0.7"]
            assert process.stop() == 0
            assert process.errors == []

    def test_manifests_that_are_not_there(self, tmp_path: Path) -> None:
        done = run("serve", "--example", "--manifests", ".", "nowhere.yaml", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.endswith("error: --manifests: no file or folder 'nowhere.yaml'\n")


def test_plugins_lists_the_order() -> None:
    done = run("plugins")
    assert (done.returncode, done.stderr) == (0, "")
    assert tuple(line.split()[0] for line in done.stdout.splitlines()) == ORDER


def test_version_command() -> None:
    assert run("version").stdout == run("-version").stdout
