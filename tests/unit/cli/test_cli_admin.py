"""`waypost cache` and `waypost config`: what they ask of an endpoint, what they print, how they fail."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest

from support.upstream import closed_port
from waypost.cli import table
from waypost.cli.main import main

ENTRY = {
    "name": "www.example.org.", "type": "A", "class": "IN", "do": True, "cd": False, "kind": "success",
    "rcode": "NOERROR", "ttl": 50, "age": 10, "stale": False, "records": 2,
}  # fmt: skip
OTHER = ENTRY | {"name": "a.org.", "class": "CH", "do": False, "stale": True, "kind": "denial", "rcode": "NXDOMAIN"}
PLAIN = ENTRY | {"name": "b.org.", "do": False}
FACTS = {
    "version": "1.2",
    "sha512": "abc",
    "files": ["/etc/Corefile", "/etc/a.conf"],
    "loaded": "2023-11-14T22:13:20Z",
    "servers": [{"address": "dns://:53", "zones": [".", "example.org."]}],
}


class Endpoint:
    """An admin endpoint that gives one response; `asked` are method and target of each request."""

    def __init__(self) -> None:
        self.value: object = []
        self.status = 200
        self.text = ""
        self.headers: dict[str, str] = {}
        self.name = "waypost"
        self.asked: list[str] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                endpoint.asked.append(f"{self.command} {self.path}")
                body = (endpoint.text or json.dumps(endpoint.value)).encode()
                self.send_response_only(endpoint.status)
                for name, value in (endpoint.headers | {"Server": endpoint.name}).items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET  # noqa: N815  # the name is the library's

            def log_message(self, *_: Any) -> None:
                pass

        self.http = HTTPServer(("127.0.0.1", 0), Handler)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.http.server_port}"


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    made = Endpoint()
    thread = Thread(target=made.http.serve_forever, args=(0.01,))
    thread.start()
    yield made
    made.http.shutdown()
    made.http.server_close()
    thread.join()


Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        ("cache list", "GET /cache?limit=1000"),
        ("cache list www.example.org --limit 5", "GET /cache?limit=5&name=www.example.org"),
        ("cache list --zone example.org.", "GET /cache?limit=1000&zone=example.org."),
        ("cache list a\\.b.org&c", "GET /cache?limit=1000&name=a%5C.b.org%26c"),
        ("cache flush", "POST /cache/flush"),
        ("cache flush www.example.org.", "POST /cache/flush?name=www.example.org."),
        ("cache flush example.org --zone", "POST /cache/flush?zone=example.org"),
        ("config", "GET /config"),
    ],
)
def test_what_is_asked(endpoint: Endpoint, words: str, asked: str) -> None:
    endpoint.value = FACTS if words == "config" else {"flushed": 0} if "flush" in words else []
    command, *rest = words.split()
    assert main([command, "--admin", endpoint.address, *rest]) == 0  # options may come first
    assert main([command, *rest, "--admin", endpoint.address, "-o", "json"]) == 0
    assert endpoint.asked == [asked, asked]


def test_a_list_in_plain_columns(endpoint: Endpoint, capsys: Capture) -> None:
    endpoint.value = [OTHER, PLAIN, ENTRY]
    assert main(["cache", "list", "--admin", endpoint.address]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "NAME              TYPE  RCODE     KIND     TTL  AGE  RECORDS  FLAGS",
        "a.org.            A     NXDOMAIN  denial   50   10   2        stale,class=CH",
        "b.org.            A     NOERROR   success  50   10   2        -",
        "www.example.org.  A     NOERROR   success  50   10   2        do",
    ]


def test_a_list_on_a_terminal(endpoint: Endpoint, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names are no markup, and no column but theirs is cut."""
    monkeypatch.setattr(table.sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "90")
    monkeypatch.setenv("NO_COLOR", "1")
    endpoint.value = [ENTRY | {"name": "[red]x[/red].example.org."}, ENTRY | {"name": f"{'long.' * 30}org."}]
    assert main(["cache", "list", "--admin", endpoint.address]) == 0
    shown = capsys.readouterr().out
    assert "NAME" in shown
    assert "─────" in shown
    assert "[red]x[/red].example.org." in shown
    assert shown.count("NOERROR") == shown.count("success") == 2


def test_an_empty_and_a_cut_list_say_so(endpoint: Endpoint, capsys: Capture) -> None:
    assert main(["cache", "list", "--admin", endpoint.address]) == 0
    assert capsys.readouterr() == ("", "no entries\n")
    endpoint.value, endpoint.headers = [PLAIN], {"X-Total-Count": "7"}
    assert main(["cache", "list", "--admin", endpoint.address, "-o", "json"]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out) == [PLAIN]
    assert shown.err == "1 of 7 entries; --limit shows more\n"


@pytest.mark.parametrize(("count", "text"), [(0, "0 entries"), (1, "1 entry"), (2, "2 entries")])
def test_a_flush(endpoint: Endpoint, capsys: Capture, count: int, text: str) -> None:
    endpoint.value = {"flushed": count}
    assert main(["cache", "flush", "--admin", endpoint.address]) == 0
    assert capsys.readouterr() == (f"{text} flushed\n", "")


def test_a_configuration(endpoint: Endpoint, capsys: Capture) -> None:
    endpoint.value = FACTS
    assert main(["config", "--admin", endpoint.address]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "version  1.2",
        "loaded   2023-11-14T22:13:20Z",
        "sha512   abc",
        "file     /etc/Corefile",
        "file     /etc/a.conf",
        "serves   dns://:53  . example.org.",
    ]
    endpoint.value = FACTS | {"files": []}
    main(["config", "--admin", endpoint.address])
    assert "file     (none: the built-in configuration)" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["cache", "list"], ["cache", "flush"], ["config"]])
def test_no_answer_is_one_line(words: list[str], capsys: Capture) -> None:
    with closed_port() as port:
        assert main([*words, "--admin", f":{port}"]) == 1
    place = f"the admin endpoint at 127.0.0.1:{port}"
    hint = "Does its Corefile have 'waypost { admin }'?"
    assert capsys.readouterr() == ("", f"waypost: no answer from {place}: Connection refused. {hint}\n")


def test_a_refusal_is_shown(endpoint: Endpoint, capsys: Capture) -> None:
    endpoint.status, endpoint.text = 400, "limit '0' is not a number from 1 to 10000\n"
    assert main(["cache", "list", "--limit", "0", "--admin", endpoint.address]) == 1
    assert capsys.readouterr() == ("", f"waypost: {endpoint.address}/cache: {endpoint.text}")


@pytest.mark.parametrize(("status", "text"), [(200, "<html>"), (404, "not here"), (200, "[]")])
def test_somebody_elses_port(endpoint: Endpoint, capsys: Capture, status: int, text: str) -> None:
    endpoint.name, endpoint.status, endpoint.text = "nginx", status, text
    assert main(["config", "--admin", endpoint.address]) == 1
    assert capsys.readouterr() == (
        "", f"waypost: what answers at {endpoint.address} is not the admin endpoint of a waypost\n"
    )  # fmt: skip


def test_an_answer_that_breaks_off(endpoint: Endpoint, capsys: Capture) -> None:
    endpoint.text = '[{"name":'
    assert main(["cache", "list", "--admin", endpoint.address]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"waypost: no answer from the admin endpoint at {endpoint.address}: ")
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("cache", "the following arguments are required: action"),
        ("cache drop", "argument action: invalid choice: 'drop'"),
        ("cache list --zone", "--zone needs the name of a zone"),
        ("cache list a b", "unrecognized arguments: b"),
        ("cache list --limit x", "argument --limit: invalid int value: 'x'"),
        ("cache list --admin 127.0.0.1", "argument --admin: expected HOST:PORT: address 127.0.0.1: missing port"),
        ("config --admin ::1:80", "argument --admin: expected HOST:PORT: address ::1:80: too many colons"),
        ("config --admin h:x", "argument --admin: expected HOST:PORT: address x: invalid port"),
        ("config -o yaml", "argument -o/--output: invalid choice: 'yaml'"),
    ],
)
def test_bad_words(words: str, error: str, capsys: Capture) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words.split())
    assert ended.value.code == 2
    assert error in capsys.readouterr().err


@pytest.mark.parametrize("command", ["cache", "config"])
def test_help_has_examples(command: str, capsys: Capture) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert f"examples:\n  waypost {command}" in capsys.readouterr().out


def test_what_is_slow_to_import_is_left_out() -> None:
    code = "import sys, waypost.cli.cache, waypost.cli.config; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"asyncio", "aiohttp", "rich", "http.client", "json"} & set(done.stdout.split()) == set()
