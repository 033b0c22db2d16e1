"""What the recorded suites run on: one simulated API server and one crew of threads for each test process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from support.apiserver import ApiServer
from support.apistore import PLURAL
from support.suite_runner.crew import Board, Crew
from support.suite_runner.emulator import LoopThread
from support.suite_runner.ports import Ports
from support.suite_runner.run import replay
from support.suite_runner.stage import Host

CLUSTER = Path(__file__).parent.parent / "data/conformance/cluster.json"
THREADS = 2
KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters: [{{name: recorded, cluster: {{server: "{url}"}}}}]
users: [{{name: nobody, user: {{}}}}]
contexts: [{{name: recorded, context: {{cluster: recorded, user: nobody}}}}]
current-context: recorded
"""


@pytest.fixture(scope="session")
def cluster_lines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The line of a kubernetes block for each source of the recorded cluster; "" stands for no cluster."""
    objects = json.loads(CLUSTER.read_text(encoding="utf-8"))["items"]
    kubeconfig = tmp_path_factory.mktemp("cluster") / "kubeconfig"
    with ApiServer(each for each in objects if each["kind"] in PLURAL) as server:
        kubeconfig.write_text(KUBECONFIG.format(url=server.url), encoding="utf-8")
        yield {"": "", "api": f"kubeconfig {kubeconfig}", "manifests": f"manifests {CLUSTER}"}


@pytest.fixture(scope="session")
def crew(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, cluster_lines: dict[str, str]
) -> Iterator[Crew]:
    """Replays every selected suite, together with the crews of the other test processes of this run."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if hasattr(request.config, "workerinput") else base
    items = (item for item in request.session.items if isinstance(item, pytest.Function))
    cases = [item.callspec.params["case"] for item in items if "crew" in item.fixturenames]
    with LoopThread() as loop:
        host = Host(loop, Ports(), tmp_path_factory.mktemp("suites"))
        runs = {case.key: partial(replay, case.suite, host, cluster_lines[case.cluster]) for case in cases}
        with Crew(Board(shared / "suites-board"), runs, THREADS) as started:
            yield started
