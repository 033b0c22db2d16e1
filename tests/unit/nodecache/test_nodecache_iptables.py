"""The way rules go through the programs of iptables, here stand-ins that keep their table in a file."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from waypost.nodecache.claims import Claims
from waypost.nodecache.failure import SetupError
from waypost.nodecache.iptables import IptablesRedirect
from waypost.nodecache.rules import rules

RULES = rules(["169.254.20.10"], "53", "8080")
PROGRAMS = {
    "iptables": 'echo "iptables v$(cat version) (legacy)"\n',
    "iptables-save": "cat table 2>/dev/null || true\n",
    "iptables-restore": 'if [ -e locked ]; then cat locked >&2; exit 4; fi\necho "$@" >> words\ncat >> restored\n',
}
LOCKED = "Another app is currently holding the xtables lock.\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The programs find their files there."""
    for name, text in PROGRAMS.items():
        (tmp_path / name).write_text(f'#!/bin/sh\ncd "$(dirname "$0")"\n{text}')
        (tmp_path / name).chmod(0o755)
    (tmp_path / "version").write_text("1.8.9")
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    return tmp_path


class Instances:
    """Makes redirects of several instances on one interface."""

    def __init__(self) -> None:
        self._name = secrets.token_hex(4)
        self.made: list[IptablesRedirect] = []

    def one(self, sync_interval: float = 60.0) -> IptablesRedirect:
        self.made.append(IptablesRedirect(RULES, 4, Claims(self._name), sync_interval))
        return self.made[-1]


@pytest.fixture
async def instances() -> AsyncIterator[Instances]:
    instances = Instances()
    yield instances
    for made in instances.made:
        await made.close()


def restored(folder: Path) -> list[str]:
    """The edits since the last call."""
    path = folder / "restored"
    lines = path.read_text().splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    return [line for line in lines if line.startswith("-")]


def stand(folder: Path, lines: list[str]) -> None:
    raw = [line for line in lines if "NOTRACK" in line]
    rest = [line for line in lines if "ACCEPT" in line]
    table = ["*raw", *raw, "COMMIT", "*filter", *rest, "COMMIT"]
    (folder / "table").write_text("\n".join(line.replace("-I ", "-A ", 1) for line in table))


async def test_put_and_withdraw(folder: Path, instances: Instances) -> None:
    made = instances.one()
    await made.put()
    edits = restored(folder)
    assert len(edits) == 12
    assert edits[0] == (
        "-I PREROUTING -p tcp -d 169.254.20.10 --dport 53 -j NOTRACK -m comment "
        '--comment "NodeLocal DNS Cache: skip conntrack"'
    )
    stand(folder, edits)
    await made.put()
    assert restored(folder) == []
    await made.withdraw()
    assert [line.split()[0] for line in restored(folder)] == ["-D"] * 12
    await made.withdraw()
    assert restored(folder) == []
    assert set((folder / "words").read_text().splitlines()) == {"--noflush -w 5"}


async def test_what_somebody_removed_comes_back_after_the_interval(folder: Path, instances: Instances) -> None:
    made = instances.one(sync_interval=0.0)
    await made.put()
    edits = restored(folder)
    stand(folder, edits[:-1])
    await made.put()
    assert restored(folder) == edits[-1:]


async def test_the_last_that_claims_them_removes_them(folder: Path, instances: Instances) -> None:
    one, two = instances.one(), instances.one()
    await one.put()
    stand(folder, restored(folder))
    await two.put()
    await one.withdraw()
    assert restored(folder) == []
    await two.withdraw()
    assert len(restored(folder)) == 12


async def test_rules_of_the_dead_are_swept_away(folder: Path, instances: Instances) -> None:
    one, two = instances.one(), instances.one()
    await one.put()
    stand(folder, restored(folder))
    await two.sweep()
    assert restored(folder) == []
    await one.close()
    await two.sweep()
    assert len(restored(folder)) == 12


async def test_a_held_lock_is_an_error_to_try_again_after(folder: Path, instances: Instances) -> None:
    made = instances.one()
    (folder / "locked").write_text(LOCKED)
    with pytest.raises(SetupError, match="xtables lock") as error:
        await made.put()
    assert error.value.kind == "iptables_lock"
    (folder / "locked").unlink()
    await made.put()
    edits = restored(folder)
    assert len(edits) == 12
    stand(folder, edits)
    (folder / "locked").write_text(LOCKED)
    with pytest.raises(SetupError):
        await made.withdraw()
    (folder / "locked").unlink()
    await made.withdraw()
    assert len(restored(folder)) == 12


@pytest.mark.parametrize(
    ("version", "words"), [("1.4.19", "--noflush"), ("1.6.1", "--noflush"), ("1.6.2", "--noflush -w 5")]
)
async def test_old_versions_cannot_wait(folder: Path, instances: Instances, version: str, words: str) -> None:
    (folder / "version").write_text(version)
    await instances.one().put()
    assert (folder / "words").read_text() == f"{words}\n"


async def test_a_program_that_is_not_there(folder: Path, instances: Instances) -> None:
    (folder / "iptables-save").unlink()
    with pytest.raises(SetupError, match="iptables-save: No such file or directory") as error:
        await instances.one().put()
    assert error.value.kind == "iptables"
