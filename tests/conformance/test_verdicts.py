"""Recorded verdicts on Corefiles: a server starts with what CoreDNS starts with, and refuses what it refuses."""

from __future__ import annotations

from pathlib import Path

from support.directives import is_supported
from support.verdicts import Trial, judge, load

RECORDED = Path(__file__).parent.parent / "data/conformance/corefile-verdicts.json"
AGREE = 0.97
SAME_TEXT = 0.9

DISAGREEMENTS = {
    "forward-https": "DNS over HTTPS to upstreams is supported, as by newer releases.",
    "zone-dup-case": "Zones are kept in lower case, as by newer releases: it is defined twice.",
    "dup-view-after": "Blocks with and without a view may stand in any order, as in newer releases.",
    "dup-blocks-case": "Zones are kept in lower case, as by newer releases: it is defined twice.",
}


async def test_verdicts(tmp_path: Path) -> None:
    verdicts = [verdict for verdict in load(RECORDED) if all(map(is_supported, verdict.directives()))]
    trials = await judge(verdicts, tmp_path)
    differing = {trial.verdict.id: describe(trial) for trial in trials if trial.verdict.valid == bool(trial.error)}
    unknown = [text for key, text in differing.items() if key not in DISAGREEMENTS]
    assert unknown == [], "\n".join(unknown)
    assert set(DISAGREEMENTS) == set(differing), "entries of DISAGREEMENTS that agree by now"
    assert 1 - len(differing) / len(trials) >= AGREE

    refused = [trial for trial in trials if trial.error and not trial.verdict.valid]
    other = [describe(trial) for trial in refused if trial.error != trial.verdict.error]
    assert 1 - len(other) / len(refused) >= SAME_TEXT, "\n".join(other)


def describe(trial: Trial) -> str:
    """Both verdicts."""
    return f"{trial.verdict.id}: expected {trial.verdict.error or 'a start'}, got {trial.error or 'a start'}"
