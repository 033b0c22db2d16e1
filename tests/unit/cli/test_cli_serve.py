"""What `waypost serve` makes of its words, and what it says around the server."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from waypost.cli import example, serve
from waypost.control.build import Listen
from waypost.control.run import Process
from waypost.control.supervisor import Settings


@dataclass
class FakeServer:
    """Takes the place of the server; ends with `code`."""

    code: int = 0
    calls: list[tuple[Settings, Process]] = field(default_factory=list)

    def __call__(self, settings: Settings, process: Process) -> int:
        self.calls.append((settings, process))
        return self.code


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> FakeServer:
    fake = FakeServer()
    monkeypatch.setattr("waypost.control.run.serve", fake)
    return fake


def test_the_example(server: FakeServer) -> None:
    assert serve.main(["--example"]) == 0
    ((settings, process),) = server.calls
    assert settings.source.path == str(example.COREFILE)
    assert settings.manifests == (str(example.FOLDER),)
    assert settings.listen == Listen("127.0.0.1", "1053")
    assert process.announce.count("dig @127.0.0.1 -p 1053 ") == 3


def test_the_example_elsewhere(server: FakeServer) -> None:
    serve.main(["--example", "--listen", "[::1]:5300", "--conf", "mine"])
    ((settings, process),) = server.calls
    assert settings.source.path == "mine"
    assert settings.listen == Listen("::1", "5300")
    assert "on [::1]:5300, UDP and TCP" in process.announce
    assert process.announce.count("dig @::1 -p 5300 ") == 3


def test_other_manifests_have_other_names(server: FakeServer) -> None:
    serve.main(["--example", "--manifests", "."])
    ((settings, process),) = server.calls
    assert settings.manifests == (".",)
    assert process.announce == ""


def test_a_hint_if_the_example_cannot_start(server: FakeServer, capsys: pytest.CaptureFixture[str]) -> None:
    server.code = 1
    assert serve.main(["--example"]) == 1
    assert f"cp {example.COREFILE} Corefile" in capsys.readouterr().err
    assert serve.main(["--example", "--conf", "mine"]) == 1
    assert serve.main(["--conf", "mine"]) == 1
    assert capsys.readouterr().err == ""
