"""`waypost node-cache` on a node of its own: real interfaces, rules and conntrack, and clients that count."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.netns import DNS_POD, LINK_LOCAL, LOCAL6, SERVICE, SERVICE6, Asking, Network, ask, children, why_not
from support.nodecache import CASES, rules_of
from support.process import ServerProcess

REASON = why_not()
pytestmark = [pytest.mark.skipif(bool(REASON), reason=REASON), pytest.mark.timeout(120)]
CACHE = "192.0.2.1"
CLUSTER = "192.0.2.2"
BASE = f""".:53 {{
    bind __PILLAR__LOCAL__DNS__
    hosts {{
        {CACHE} who.test
    }}
    errors
}}
"""
CLUSTER_COREFILE = f""".:53 {{
    hosts {{
        {CLUSTER} who.test
    }}
    errors
}}
"""
BACKENDS = pytest.mark.parametrize("rules", ["nftables", "iptables"])
PATIENCE = 40.0


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    network = Network()
    folder = tmp_path_factory.mktemp("cluster")
    (folder / "Corefile").write_text(CLUSTER_COREFILE)
    try:
        with ServerProcess(["-conf", "Corefile"], cwd=folder, prefix=network.cluster.prefix) as process:
            process.says("Waypost-", seconds=PATIENCE)
            yield network
    finally:
        network.delete()


class Node:
    """Starts instances on the node, and says what stands there."""

    def __init__(self, network: Network, folder: Path, rules: str, addresses: str) -> None:
        self.network = network
        self._folder = folder
        self._rules = rules
        self._addresses = addresses
        self._instances = contextlib.ExitStack()
        self._count = 0

    def start(self, *words: str, base: str = BASE) -> ServerProcess:
        """A new instance, in a folder of its own."""
        self._count += 1
        folder = self._folder / str(self._count)
        folder.mkdir()
        (folder / "Corefile.base").write_text(base)
        flags = {
            "localip": self._addresses,
            "conf": "Corefile",
            "basecorefile": "Corefile.base",
            "rules": self._rules,
            "interfacekind": "veth",
            "readyfile": "ready",
            "metrics-listen-address": "127.0.0.1:9353",
        }
        line = ["node-cache", *(f"-{name}={value}" for name, value in flags.items()), *words]
        return self._instances.enter_context(ServerProcess(line, cwd=folder, prefix=self.network.node.prefix))

    def ready(self, *words: str, base: str = BASE) -> ServerProcess:
        """A new instance that answers."""
        process = self.start(*words, base=base)
        file = self._folder / str(self._count) / "ready"
        process.until(file.exists, "ready file", PATIENCE)
        return process

    def stop(self) -> None:
        self._instances.close()

    def rules(self) -> list[str]:
        """Every rule on the node that takes packets from conntrack, or lets them pass for being ours."""
        saved = self.network.node.run("sh", "-c", "iptables-save; ip6tables-save")
        tables = self.network.node.run("nft", "list", "ruleset")
        ours = re.findall(r"table ip6? (waypost-node-cache-\w+)", tables)
        return [line for line in saved.splitlines() if "NodeLocal DNS Cache" in line] + ours

    def devices(self) -> str:
        return self.network.node.run("ip", "-o", "addr", "show")

    def until(self, condition: Callable[[], object], what: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, f"no {what}\n{self.rules()}\n{self.devices()}"
            time.sleep(0.02)

    def until_clear(self) -> None:
        """Wait until neither a rule nor an address is left."""
        self.until(lambda: self.rules() == [], "node without rules")
        self.until(lambda: "nodelocaldns" not in self.devices(), "node without addresses")


@pytest.fixture
def make(network: Network, tmp_path: Path) -> Iterator[Callable[..., Node]]:
    nodes: list[Node] = []

    def make(rules: str, addresses: str = f"{LINK_LOCAL},{SERVICE}") -> Node:
        nodes.append(Node(network, tmp_path, rules, addresses))
        return nodes[-1]

    yield make
    for node in nodes:
        node.stop()
        node.until_clear()


def server_of(process: ServerProcess) -> int:
    """The server that an instance has started."""
    [pid] = children(process.pid)
    return pid


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


Make = Callable[..., Node]


@BACKENDS
@pytest.mark.parametrize(("local", "service"), [(LINK_LOCAL, SERVICE), (LOCAL6, SERVICE6)], ids=["IPv4", "IPv6"])
def test_packets_come_to_the_cache_and_pass_by_conntrack(
    network: Network, make: Make, rules: str, local: str, service: str
) -> None:
    node = make(rules, f"{local},{service}")
    with network.pod.inside():
        assert ask(service) == ask(service, tcp=True) == CLUSTER
    assert network.tracked(service) >= 2
    process = node.ready()
    for place in (network.pod, network.node):
        with place.inside():
            for address in (service, local):
                assert ask(address) == ask(address, tcp=True) == CACHE
    assert network.tracked(service) == network.tracked(local) == 0
    assert process.stop() == 0
    node.until_clear()
    with network.pod.inside():
        assert ask(service) == CLUSTER


def test_the_rules_of_iptables_are_the_recorded_ones(network: Network, make: Make) -> None:
    [case] = [case for case in CASES if case["id"] == "one-v4"]
    make("iptables", LINK_LOCAL).ready()
    found = []
    for rule in rules_of(case):
        network.node.run("iptables", "-C", rule["chain"], "-t", rule["table"], *rule["args"])
    for table in ("raw", "filter"):
        found += [
            line for line in network.node.run("iptables", "-S", "-t", table).splitlines() if line.startswith("-A")
        ]
    assert len(found) == len(rules_of(case)) == 12


@BACKENDS
def test_the_server_is_killed(network: Network, make: Make, rules: str) -> None:
    node = make(rules)
    process = node.ready()
    with Asking(network.pod, SERVICE, patience=0.2) as udp, Asking(network.pod, SERVICE, tcp=True, patience=0.2) as tcp:
        udp.until(CACHE)
        os.kill(server_of(process), signal.SIGKILL)
        udp.until(CLUSTER)
        tcp.until(CLUSTER)
        udp.until(CACHE)
        tcp.until(CACHE)
    process.says("its rules are withdrawn")
    process.says("starting it again")
    # One was on its way; and what is asked until the rules are gone meets a closed port.
    assert udp.lost + tcp.lost < 40
    assert process.stop() == 0


@BACKENDS
def test_the_server_hangs_and_goes_on(network: Network, make: Make, rules: str) -> None:
    node = make(rules)
    process = node.ready()
    server = server_of(process)
    with Asking(network.pod, SERVICE) as udp, Asking(network.pod, SERVICE, tcp=True) as tcp:
        udp.until(CACHE)
        os.kill(server, signal.SIGSTOP)
        udp.until(CLUSTER)
        tcp.until(CLUSTER)
        assert node.rules() == []
        lost = udp.lost + tcp.lost
        start = len(udp.answers)
        os.kill(server, signal.SIGCONT)
        udp.until(CACHE)
        tcp.until(CACHE)
        assert udp.since(start) == {CLUSTER, CACHE}
        assert udp.lost + tcp.lost == lost
    # Each question waits a second, and the hang is noticed within a couple.
    assert lost <= 6
    assert server_of(process) == server
    assert process.stop() == 0


def test_a_server_that_hangs_for_good_is_replaced(network: Network, make: Make) -> None:
    process = make("nftables").ready("-hangtimeout", "1")
    os.kill(server_of(process), signal.SIGSTOP)
    process.says("silent for 1s: killing it")
    process.says("its rules stand", times=2)
    with network.pod.inside():
        assert ask(SERVICE) == CACHE
    assert process.stop() == 0


@BACKENDS
def test_the_watchdog_is_killed(network: Network, make: Make, rules: str) -> None:
    node = make(rules)
    process = node.ready()
    server = server_of(process)
    with Asking(network.pod, SERVICE) as udp:
        udp.until(CACHE)
        process.kill(signal.SIGKILL)
        node.until_clear()
        udp.until(CLUSTER)
        node.until(lambda: not is_running(server), "end of the server")
        assert udp.lost == 0


def test_both_are_killed_at_once(network: Network, make: Make) -> None:
    node = make("nftables")
    process = node.ready()
    server = server_of(process)
    os.kill(server, signal.SIGSTOP)
    process.kill(signal.SIGKILL)
    os.kill(server, signal.SIGKILL)
    node.until(lambda: node.rules() == [], "node without rules")
    with network.pod.inside():
        assert ask(SERVICE) == CLUSTER
    node.until(
        lambda: LINK_LOCAL not in node.devices() and f"{SERVICE}/" not in node.devices(), "lapse of the addresses"
    )


def test_what_the_dead_left_is_swept_away(network: Network, make: Make) -> None:
    node = make("iptables")
    process = node.ready()
    server = server_of(process)
    os.kill(server, signal.SIGSTOP)
    process.kill(signal.SIGKILL)
    os.kill(server, signal.SIGKILL)
    process.wait()
    assert len(node.rules()) == 24
    again = node.start(base=".:53 {\n    nonsense\n}\n")
    assert again.wait() == 1
    assert node.rules() == []


def test_the_watchdog_hangs(network: Network, make: Make) -> None:
    """Rules that nobody looks after lapse; the cluster answers, until they are looked after again."""
    node = make("nftables")
    process = node.ready()
    with Asking(network.pod, SERVICE) as udp:
        udp.until(CACHE)
        process.kill(signal.SIGSTOP)
        udp.until(CLUSTER)
        process.kill(signal.SIGCONT)
        udp.until(CACHE)
        assert udp.lost == 0
    assert process.stop() == 0


@BACKENDS
def test_the_end_loses_no_query(network: Network, make: Make, rules: str) -> None:
    node = make(rules)
    process = node.ready()
    with Asking(network.pod, SERVICE) as udp:
        udp.until(CACHE)
        assert process.stop() == 0
        udp.until(CLUSTER)
        assert udp.lost == 0
    node.until_clear()


@BACKENDS
def test_an_update_with_overlap_loses_no_query(network: Network, make: Make, rules: str) -> None:
    node = make(rules)
    with contextlib.ExitStack() as clients:
        old = node.ready()
        clients_of = [(SERVICE, False), (SERVICE, True), (LINK_LOCAL, False), (LINK_LOCAL, True)]
        asking = [clients.enter_context(Asking(network.pod, server, tcp=tcp)) for server, tcp in clients_of]
        for _ in range(3):
            new = node.ready()
            for each in asking:
                each.until(CACHE)
            assert old.stop() == 0
            assert node.rules()
            for each in asking:
                each.until(CACHE)
            old = new
        assert [each.lost for each in asking] == [0, 0, 0, 0], [each.failures for each in asking]
        assert {by for each in asking for by in each.since(0)} == {CACHE}
    assert old.stop() == 0
    node.until_clear()


@BACKENDS
def test_one_of_two_is_killed(network: Network, make: Make, rules: str) -> None:
    node = make(rules)
    one, two = node.ready(), node.ready()
    server = server_of(two)
    two.kill(signal.SIGKILL)
    node.until(lambda: not is_running(server), "end of the server")
    with network.pod.inside():
        assert [ask(SERVICE), ask(LINK_LOCAL), ask(SERVICE, tcp=True)] == [CACHE] * 3
    assert node.rules()
    assert one.stop() == 0
    node.until_clear()


def test_the_server_ends_by_itself(make: Make) -> None:
    """As CoreDNS's does when its Corefile cannot be used: the container ends, and says why."""
    node = make("nftables")
    process = node.start(base=".:53 {\n    nonsense\n}\n")
    assert process.wait() == 1
    assert any("nonsense" in line for line in process.errors)
    assert any("The server ended with exit code 1" in line for line in process.lines)
    node.until_clear()


def test_a_stub_domain_of_kube_dns(network: Network, make: Make, tmp_path: Path) -> None:
    """Its ConfigMap is read again while the server runs."""
    folder = tmp_path / "kube-dns"
    folder.mkdir()
    base = BASE.replace(".:53", "org:53").replace("    errors\n", "    errors\n    reload\n")
    process = make("nftables").ready(f"-kubednscm={folder}", "-reloadwithsignal", base=base)
    (folder / "stubDomains").write_text(f'{{"test": ["{DNS_POD}"]}}')
    process.says("SIGUSR1: Reloading", times=1, seconds=30)
    process.says("Reloading complete")
    network.tracked(SERVICE)  # of earlier times
    with network.pod.inside():
        assert ask(SERVICE) == ask(SERVICE, tcp=True) == CLUSTER
    assert network.tracked(SERVICE) == 0
    assert process.stop() == 0


def test_rules_may_be_left_behind(make: Make) -> None:
    node = make("iptables")
    assert node.ready("-skipteardown").stop() == 0
    assert len(node.rules()) == 24
    assert f"{SERVICE}/32" in node.devices()
    assert node.ready().stop() == 0
    node.until_clear()


def test_metrics(network: Network, make: Make) -> None:
    process = make("nftables").ready()
    process.says("its rules stand")
    text = network.node.run(
        "python3", "-c", "import urllib.request as u; print(u.urlopen('http://127.0.0.1:9353/metrics').read().decode())"
    )
    for kind in ("iptables", "iptables_lock", "interface_add", "interface_check", "configmap"):
        assert f'coredns_nodecache_setup_errors_total{{errortype="{kind}"}} 0\n' in text
    assert "waypost_node_cache_answering 1\n" in text
    assert process.stop() == 0


def test_a_kind_of_interface_that_does_not_exist(make: Make) -> None:
    """What can be served without is served, and the error is said and counted."""
    process = make("nftables").start("-interfacekind=nonsense")
    process.says("interface nodelocaldns:")
    process.kill(signal.SIGTERM)
    process.wait()
