"""`waypost autoscale` as a process beside a simulated API server, and `waypost autoscale plan`."""

from __future__ import annotations

import json
import signal
import time
import urllib.error
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.process import ServerProcess, free_port, get, run
from support.scaleapi import ScaleApi, api_node
from support.tree import ROOT
from waypost.cli import autoscale, autoscale_plan

CASES = json.loads((ROOT / "tests/data/scaling/autoscaler.json").read_text(encoding="utf-8"))
SCALE = "/apis/apps/v1/namespaces/kube-system/deployments/coredns/scale"
CONFIG = "/api/v1/namespaces/kube-system/configmaps/dns-autoscaler"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/dns-autoscaler"
WORDS = ("autoscale", "--namespace=kube-system", "--configmap=dns-autoscaler", "--target=deployment/coredns")
PATIENCE = 20.0


def until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"no {what}"
        time.sleep(0.02)


def config(**params: Any) -> dict[str, Any]:
    return {"kind": "ConfigMap", "metadata": {"name": "dns-autoscaler"}, "data": {"linear": json.dumps(params)}}


@pytest.fixture
def api() -> Iterator[ScaleApi]:
    with ScaleApi(*(api_node(f"node-{number}", pool="dns" if number < 3 else "other") for number in range(9))) as api:
        api.add_target(SCALE, 1)
        yield api


@pytest.fixture
def words(api: ScaleApi, tmp_path: Path) -> tuple[str, ...]:
    kubeconfig = {
        "current-context": "test",
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": ""}}],
        "clusters": [{"name": "test", "cluster": {"server": api.url}}],
    }
    (tmp_path / "kubeconfig").write_text(json.dumps(kubeconfig))
    return (*WORDS, f"--kubeconfig={tmp_path / 'kubeconfig'}", "--poll-period-seconds=1")


def test_follows_nodes_and_parameters(api: ScaleApi, words: tuple[str, ...]) -> None:
    api.set(CONFIG, config(nodesPerReplica=4))
    port = free_port()
    with ServerProcess([*words, f"--listen-address=127.0.0.1:{port}", "--v=2"]) as process:
        until(lambda: api.replicas(SCALE) == 3, "replica for each four of nine nodes")
        for number in range(20):
            api.put("nodes", api_node(f"more-{number}"))
        until(lambda: api.replicas(SCALE) == 8, "replicas for 29 nodes")
        api.set(CONFIG, config(nodesPerReplica=100, min=2))
        until(lambda: api.replicas(SCALE) == 2, "replicas by the new parameters")
        assert get(port, "/healthz") == get(port, "/last-poll") == "OK"
        assert 'waypost_autoscaler_nodes{counted="all"} 29' in get(port, "/metrics")
        api.set(CONFIG, config(nodesPerReplica=-1))
        process.says("linear.nodesPerReplica: expected 0 or more, got -1")
        with pytest.raises(urllib.error.HTTPError, match="500"):
            get(port, "/last-poll")
        assert process.stop() == 0
    assert {method for method, path in api.log if path == SCALE} == {"PATCH"}
    assert [each["reason"] for each in api.events("kube-system")].count("Scaled") == 3
    assert LEASE not in api.objects


def test_flags_of_the_cluster_proportional_autoscaler(api: ScaleApi, words: tuple[str, ...]) -> None:
    more = ('--default-params={"linear":{"nodesPerReplica":1}}', "--nodelabels=pool=dns", "--logtostderr=true", "--v=2")
    with ServerProcess([*words, *more, "--listen-address="]) as process:
        until(lambda: api.replicas(SCALE) == 3, "replica for each of the three nodes")
        assert process.stop() == 0
    assert api.objects[CONFIG]["data"] == {"linear": '{"nodesPerReplica":1}'}
    assert process.lines == []
    assert any("will create one with default params" in line for line in process.errors)


def test_dry_run(api: ScaleApi, words: tuple[str, ...]) -> None:
    more = ("--default-params", '{"linear": {"nodesPerReplica": 4}}', "--dry-run", "--leader-elect")
    with ServerProcess([*words, *more, "--listen-address="]) as process:
        process.says("deployment/coredns: would be scaled from 1 to 3 replicas")
        assert process.stop() == 0
    assert api.log == []


def test_one_of_two_acts_and_the_other_takes_over(api: ScaleApi, words: tuple[str, ...]) -> None:
    api.set(CONFIG, config(nodesPerReplica=4))
    more = ("--leader-elect", "--listen-address=")
    with ServerProcess([*words, *more]) as one:
        one.says("leading")
        until(lambda: api.replicas(SCALE) == 3, "replicas by the first")
        with ServerProcess([*words, *more]) as two:
            assert one.stop() == 0
            two.says("leading")
            api.set(CONFIG, config(nodesPerReplica=3, min=4))
            until(lambda: api.replicas(SCALE) == 4, "replicas by the second")
            assert two.stop(signal.SIGINT) == 0
    assert api.objects[LEASE]["spec"]["holderIdentity"] == ""
    assert api.objects[LEASE]["spec"]["leaseTransitions"] == 1


def test_too_many_failures_end_it(api: ScaleApi, words: tuple[str, ...]) -> None:
    with ServerProcess([*words, "--max-sync-failures=2", "--listen-address="]) as process:
        assert process.wait() == 1
    assert sum("not found" in line for line in process.lines) == 2


def test_what_is_refused_is_said_once(api: ScaleApi, words: tuple[str, ...]) -> None:
    api.set(CONFIG, config(nodesPerReplica=4))
    api.refused["PATCH", SCALE] = 403
    with ServerProcess([*words, "--max-sync-failures=3", "--listen-address="]) as process:
        assert process.wait() == 1
    [event] = api.events("kube-system")
    assert (event["type"], event["reason"]) == ("Warning", "ScalingFailed")
    assert event["message"] == f"deployment/coredns: PATCH {SCALE} is refused"


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--target=statefulset/a"], 1, "--target: expected deployment/NAME"),
        (["--default-params=x"], 1, "--default-params: not JSON"),
        (["--kubeconfig=gone"], 1, "stat gone: no such file or directory"),
        (["--poll-period-seconds=0"], 2, "--poll-period-seconds takes 1 or more"),
        (["--logtostderr=perhaps"], 2, "expected true or false"),
        (["--listen-address=x"], 2, "expected HOST:PORT"),
        (["--unknown"], 2, "unrecognized arguments"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_flags_that_cannot_be_used(words: list[str], code: int, says: str, tmp_path: Path) -> None:
    (tmp_path / "config").write_text(
        '{"current-context": "a", "contexts": [{"name": "a", "context": {"cluster": "a"}}],'
        '"clusters": [{"name": "a", "cluster": {"server": "http://127.0.0.1:1"}}]}'
    )
    done = run(*WORDS, "--kubeconfig=config", *words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (code, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_outside_of_a_cluster() -> None:
    done = run(*WORDS)
    assert (done.returncode, done.stdout) == (1, "")
    assert "unable to load in-cluster configuration" in done.stderr


def plan(case: dict[str, Any], path: Path) -> list[str]:
    """The words for a recorded case, with its parameters in a file."""
    data = case["data"] if "data" in case else {case["mode"]: case["params_text"]}
    path.write_text(json.dumps(data))
    sizes = ("nodes", "schedulable_nodes", "cores", "schedulable_cores")
    words = [word for name in sizes for word in (f"--{name.replace('_', '-')}", str(case[name]))]
    return [*words, "--params", str(path)]


@pytest.mark.parametrize("case", [pytest.param(each, id=each["id"]) for each in CASES])
def test_plan(case: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = plan(case, tmp_path / "params.json")
    code = autoscale_plan.main([*words, "-o", "json"])
    answer = json.loads(capsys.readouterr().out)
    text_code = autoscale_plan.main(words)
    output = capsys.readouterr()
    assert code == text_code == (0 if "expect" in case else 1)
    if "expect" in case:
        assert answer == {"replicas": case["expect"]}
        assert output.out.startswith(f"replicas: {case['expect']} ")
    else:
        assert output.out == ""
        assert output.err == f"waypost: {answer['error']}\n"


@pytest.mark.parametrize(
    "text",
    [
        "linear: '{\"nodesPerReplica\": 16}'\n",
        "linear:\n  nodesPerReplica: 16\n",
        '{"linear": {"nodesPerReplica": 16}}',
        'kind: ConfigMap\nmetadata: {name: a}\ndata:\n  linear: |\n    {"nodesPerReplica": 16}\n',
    ],
)
def test_plan_reads_yaml_and_json(text: str) -> None:
    done = run("autoscale", "plan", "--nodes", "100", "--cores", "400", "--params", "-", text=text)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "replicas: 7 (cores ask for 1, nodes for 7)"
    assert lines[2].split() == ["NODES", "CORES", "REPLICAS"]
    assert ["100", "400", "7", "#######", "now"] in [line.split() for line in lines]
    assert lines[-1].split()[:3] == ["200", "800", "13"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "got nothing"),
        ("- a", "expected an object with the key linear or ladder"),
        ("linear: [", "line 1"),
        ("linear: {nodesPerReplica: 2.0, min: 2.0}", "linear.min: wrong type: expected a whole number, got 2.0"),
        ("kind: ConfigMap", "exactly one key"),
    ],
)
def test_plan_says_what_is_wrong(text: str, says: str) -> None:
    done = run("autoscale", "plan", "--nodes", "1", "--cores", "1", "--params", "-", text=text)
    assert (done.returncode, done.stdout) == (1, "")
    assert says in done.stderr


@pytest.mark.parametrize(
    "words", [["--nodes", "1"], ["--nodes", "-1", "--cores", "1"], ["--nodes", "1", "--cores", "x"]]
)
def test_plan_wrong_usage(words: list[str]) -> None:
    assert run("autoscale", "plan", *words, "--params", "-").returncode == 2
    done = run("autoscale", "plan", "--nodes", "1", "--schedulable-nodes", "2", "--cores", "1", "--params", "-")
    assert (done.returncode, "--schedulable-nodes" in done.stderr) == (2, True)


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for command in (autoscale, autoscale_plan):
        with pytest.raises(SystemExit):
            command.main(["--help"])
        assert "examples:\n  waypost autoscale " in capsys.readouterr().out
