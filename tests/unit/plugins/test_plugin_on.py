"""on: the directive, and commands that fail, stay, or take too long."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support.chain import FakeProcess, make_directive, make_site, run
from support.upstream import until
from waypost.corefile.errors import CorefileError
from waypost.plugins import on
from waypost.plugins.on import SHUTDOWN, STARTUP, Command, Config, Runner, parse, setup

PYTHON = sys.executable


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("on startup true", (Command(STARTUP, ("true",)),)),
        ("on SHUTDOWN /bin/x a b", (Command(SHUTDOWN, ("/bin/x", "a", "b")),)),
        ("on startup x a &", (Command(STARTUP, ("x", "a"), background=True),)),
        ("on startup &", (Command(STARTUP, ("&",)),)),
        ("on startup x a&", (Command(STARTUP, ("x", "a&")),)),
        ("on startup echo 'a b' c\\ d", (Command(STARTUP, ("echo", "a b", "c d")),)),
        ('on startup "echo a b"', (Command(STARTUP, ("echo", "a", "b")),)),
        ("on startup a\non shutdown b", (Command(STARTUP, ("a",)), Command(SHUTDOWN, ("b",)))),
    ],
)
def test_commands(text: str, commands: tuple[Command, ...]) -> None:
    assert parse(make_directive(text)) == Config(commands)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("on", "Wrong argument count or unexpected line ending after 'on'"),
        ("on foo true", "Wrong event name or event not supported: 'foo'"),
        ("on Start true", "Wrong event name or event not supported: 'Start'"),
        ("on startup", "no command contained in ''"),
        ('on startup ""', "no command contained in ''"),
        ("on startup echo 'a", "error parsing command: EOF found when expecting closing quote"),
        ("on startup echo a\\", "error parsing command: EOF found after escape character"),
    ],
)
def test_refused(text: str, error: str) -> None:
    with pytest.raises(CorefileError) as caught:
        parse(make_directive(text))
    assert caught.value.text == error


async def end(process: FakeProcess) -> None:
    """What the last configuration with `on` does when it stops."""
    runner = process.lender.lent["on"]
    assert isinstance(runner, Runner)
    await runner.close()


def logged(process: FakeProcess, text: str) -> bool:
    return any(text in line for line in process.lines)


def alive(pid: int) -> bool:
    """Whether a process runs: one that has ended and was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def sleeper(path: Path, *, deaf: bool = False) -> str:
    """A command that notes its process id and stays, even when it is asked to end if it is deaf."""
    script = path.with_suffix(".py")
    ignore = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" if deaf else ""
    script.write_text(
        f"import os, time\n{ignore}"
        f"open({str(path) + '.new'!r}, 'w').write(str(os.getpid()))\n"
        f"os.rename({str(path) + '.new'!r}, {str(path)!r})\ntime.sleep(600)\n"
    )
    return f"{PYTHON} {script}"


def test_an_event_that_never_happens_is_pointed_out() -> None:
    process = FakeProcess()
    setup(make_directive("on certrenew true"), make_site(process=process))
    assert process.lines == ["[WARNING] on certrenew: this event never happens, as in CoreDNS"]


async def test_commands_run_one_after_the_other(tmp_path: Path) -> None:
    process = FakeProcess()
    site = make_site(process=process)
    setup(make_directive(f"on startup mkdir {tmp_path}/a\non startup mkdir {tmp_path}/a/b"), site)
    await run(site.hooks.active)
    await until((tmp_path / "a/b").exists)
    assert process.lines[0].startswith(f'[INFO] Blocking Command "mkdir {tmp_path}/a" with ID ')
    assert len(process.lines) == 2
    await end(process)


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ("no-such-command-here", 'hook: exec: "no-such-command-here": no such file or directory'),
        ("/dev/null", 'hook: exec: "/dev/null": permission denied'),
        (f"{PYTHON} -c raise\\ SystemExit(3)", "hook: exit status 3"),
        (f"{PYTHON} -c 'import os; os.abort()'", "hook: signal: SIGABRT"),
    ],
)
async def test_a_failure_is_logged_and_the_next_command_runs(command: str, complaint: str, tmp_path: Path) -> None:
    process = FakeProcess()
    site = make_site(process=process)
    setup(make_directive(f"on startup {command}\non startup mkdir {tmp_path}/next"), site)
    await run(site.hooks.active)
    await until((tmp_path / "next").exists)
    assert logged(process, complaint), process.lines
    await end(process)


@pytest.mark.parametrize("deaf", [False, True])
async def test_what_still_runs_ends_with_the_server(
    deaf: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on, "_GRACE_SECONDS", 0.1)
    process = FakeProcess()
    site = make_site(process=process)
    pids = [tmp_path / "blocking", tmp_path / "background"]
    lines = f"on startup {sleeper(pids[1], deaf=deaf)} &\non startup {sleeper(pids[0], deaf=deaf)}"
    setup(make_directive(lines), site)
    await run(site.hooks.active)
    for path in pids:
        await until(path.exists)
    await end(process)
    assert not any(alive(int(path.read_text())) for path in pids)


async def test_a_command_at_the_end_may_not_take_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on, "_SHUTDOWN_SECONDS", 1.0)
    process = FakeProcess()
    site = make_site(process=process)
    setup(make_directive(f"on shutdown {sleeper(tmp_path / 'pid')}\non shutdown mkdir {tmp_path}/never"), site)
    await run(site.hooks.final)
    assert process.lines[-1] == "[ERROR] Commands on shutdown were ended: they took more than 1 s"
    assert not (tmp_path / "never").exists()
    assert not (tmp_path / "pid").exists() or not alive(int((tmp_path / "pid").read_text()))


async def test_no_input_and_the_same_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYPOST_TEST", "here")
    script = tmp_path / "script.py"
    text = f"open({str(tmp_path / 'out')!r}, 'w').write(sys.stdin.read() + os.environ['WAYPOST_TEST'])"
    script.write_text(f"import os, sys\n{text}\n")
    site = make_site()
    setup(make_directive(f"on shutdown {PYTHON} {script}"), site)
    await run(site.hooks.final)
    assert (tmp_path / "out").read_text() == "here"
