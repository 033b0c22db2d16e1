"""`multisocket N`: N processes that serve as one, whatever happens to some of them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from support.apiobjects import api_namespace, api_service
from support.apiserver import ApiServer
from support.load import Load
from support.process import ServerProcess, ask, free_port, get, serving
from support.workers import CLIENTS, Clients, answered, children, ended, send, stopped, workers

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="worker processes need Linux")

FAST = """.:{port} {{
    bind 127.0.0.1
    multisocket {number}
    {answering}
    {more}
}}
"""
RELOADS = 8


@pytest.fixture
def port() -> int:
    return free_port()


def corefile(port: int, number: int, more: str = "", answering: str = "erratic {\n        drop 0\n    }") -> str:
    return FAST.format(port=port, number=number, more=more, answering=answering)


def status(port: int, path: str) -> int:
    """The HTTP status on a port of loopback."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=8) as response:
            return int(response.status)
    except urllib.error.HTTPError as exc:
        return exc.code


def counted(port: int, name: str) -> float:
    """The sum of a metric over its labels."""
    families = text_string_to_metric_families(get(port, "/metrics"))
    return sum(sample.value for family in families for sample in family.samples if sample.name == name)


def reload(process: ServerProcess, folder: Path, text: str, times: int) -> None:
    (folder / "Corefile").write_text(text)
    process.kill(signal.SIGUSR1)
    process.says("[INFO] Reloading complete", times=times)


class TestDeath:
    def test_one_that_is_killed_is_replaced_and_its_queued_queries_are_answered(
        self, tmp_path: Path, port: int
    ) -> None:
        with serving(tmp_path, corefile(port, 3), port) as process, Clients(port) as clients:
            before = workers(process, 3)
            own, others = clients.of(before[1])
            assert own
            assert others
            with stopped(before[1]):
                for client in own:
                    send(client, 2)
                os.kill(before[1], signal.SIGKILL)
                for number in range(3, 40):
                    for client in others:
                        send(client, number)
                    assert all(answered(client, number, 5) for client in others)
            assert all(answered(client, 2, 5) for client in own)
            process.says("worker 1 (process")
            after = workers(process, 3)
            assert len(set(before) & set(after)) == 2
            assert clients.all_answered(50)
            assert process.stop() == 0

    def test_connections_of_siblings_live_on(self, tmp_path: Path, port: int) -> None:
        with serving(tmp_path, corefile(port, 2), port) as process, Clients(port) as clients:
            first, _ = workers(process, 2)
            _, others = clients.of(first)
            connections = [socket.create_connection(("127.0.0.1", port), 5) for _ in range(CLIENTS)]
            query = b"\0\x17" + b"\0\1\1\0\0\1\0\0\0\0\0\0" + b"\1a\3org\0\0\1\0\1"
            with stopped(first):
                for connection in connections:
                    connection.sendall(query)
                deadline = time.monotonic() + 0.5
                kept = [each for each in connections if answered_tcp(each, max(0.001, deadline - time.monotonic()))]
                os.kill(first, signal.SIGKILL)
            assert 0 < len(kept) < CLIENTS
            workers(process, 2)
            for connection in kept:
                connection.sendall(query)
                assert answered_tcp(connection, 5)
            for connection in connections:
                connection.close()
            assert others
            assert process.stop() == 0

    def test_none_outlives_the_supervisor(self, tmp_path: Path, port: int) -> None:
        with serving(tmp_path, corefile(port, 3), port) as process:
            pids = workers(process, 3)
            with stopped(pids[0]):
                process.kill(signal.SIGKILL)
                process.wait()
                ended(pids)

    def test_signals_to_the_group_are_the_supervisors(self, tmp_path: Path, port: int) -> None:
        with serving(tmp_path, corefile(port, 2), port) as process:
            pids = workers(process, 2)
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
                os.kill(pids[0], number)
            with Clients(port) as clients:
                assert clients.all_answered(7)
            assert workers(process, 2) == pids

    def test_a_crash_loop_backs_off(self, tmp_path: Path, port: int) -> None:
        with serving(tmp_path, corefile(port, 2), port) as process:
            for times in range(1, 4):
                os.kill(workers(process, 2)[-1], signal.SIGKILL)
                process.says("ended (signal SIGKILL): it is replaced", times=times)
            process.says("it is replaced in 1 s")
            assert ask(port)
            assert process.stop() == 0


def answered_tcp(connection: socket.socket, seconds: float) -> bool:
    connection.settimeout(seconds)
    try:
        return len(connection.recv(4096)) > 2
    except TimeoutError:
        return False


class TestReload:
    @pytest.mark.parametrize("numbers", [(2, 2), (2, 4)], ids=["as many", "more"])
    def test_under_load_nothing_is_lost(self, tmp_path: Path, port: int, numbers: tuple[int, int]) -> None:
        with serving(tmp_path, corefile(port, 2), port) as process, Load(port) as load:
            for times in range(1, RELOADS + 1):
                more = f"header {{\n        response set {'aa' if times % 2 else 'ra'}\n    }}"
                number = numbers[times > RELOADS // 2]
                reload(process, tmp_path, corefile(port, number, more), times)
            assert len(workers(process, numbers[-1])) == numbers[-1]
        load.check(least=RELOADS)
        assert not any("[ERROR]" in line for line in process.lines)

    def test_a_configuration_that_one_worker_cannot_start_is_nobodys(
        self, tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A plugin whose start fails in every worker but the first that comes."""
        site = tmp_path / "site"
        info = site / "picky-1.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: picky\nVersion: 1\n")
        (info / "entry_points.txt").write_text("[waypost.plugins]\npicky = picky\n")
        (site / "picky.py").write_text(PICKY.format(mark=str(tmp_path / "mark")))
        monkeypatch.setenv("PYTHONPATH", str(site))
        with serving(tmp_path, corefile(port, 3), port) as process, Clients(port) as clients, Load(port) as load:
            before = workers(process, 3)
            (tmp_path / "Corefile").write_text(corefile(port, 3, "picky"))
            process.kill(signal.SIGUSR1)
            process.says("[ERROR] Restart failed: somebody was here before")
            assert clients.all_answered(9)
            assert workers(process, 3) == before
            (tmp_path / "mark").unlink()
            reload(process, tmp_path, corefile(port, 3, "# another"), 1)
            assert workers(process, 3) == before
        load.check(least=3)

    def test_a_worker_that_dies_meanwhile_fails_it(self, tmp_path: Path, port: int) -> None:
        with serving(tmp_path, corefile(port, 2), port) as process:
            first, _ = workers(process, 2)
            (tmp_path / "Corefile").write_text(corefile(port, 2, "# another"))
            with stopped(first):
                process.kill(signal.SIGUSR1)
                process.says("[INFO] Reloading")
                os.kill(first, signal.SIGKILL)
            process.says("[ERROR] Restart failed: worker 0")
            workers(process, 2)
            reload(process, tmp_path, corefile(port, 2, "# yet another"), 1)
            with Clients(port) as clients:
                assert clients.all_answered(11)
            assert process.stop() == 0

    def test_a_new_address_is_everybodys(self, tmp_path: Path, port: int) -> None:
        other = free_port()
        with serving(tmp_path, corefile(port, 3), port) as process:
            reload(process, tmp_path, corefile(other, 3), 1)
            workers(process, 3)
            with Clients(other) as clients:
                assert clients.all_answered(12)
                own, _ = clients.of(workers(process, 3)[2])
                assert own
            assert process.stop() == 0

    def test_one_process_stays_one(self, tmp_path: Path, port: int) -> None:
        with serving(tmp_path, corefile(port, 1), port) as process:
            assert children(process.pid) == []
            reload(process, tmp_path, corefile(port, 3), 1)
            process.says("there is one process until the next start")
            assert children(process.pid) == []
            with Clients(port) as clients:
                assert clients.all_answered(13)


PICKY = """
import os

BEFORE = "erratic"

class Handler:
    name = "picky"
    def serve(self, request):
        return self.next.serve(request)

def start():
    try:
        os.close(os.open({mark!r}, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        raise ValueError("somebody was here before") from None

def setup(directive, site):
    site.add(Handler())
    site.hooks.start.append(start)
"""


class TestStop:
    def test_what_has_arrived_is_answered(self, tmp_path: Path, port: int) -> None:
        slow = corefile(port, 3).replace("drop 0", "drop 0\n        delay 1 200ms")
        with serving(tmp_path, slow, port) as process, Clients(port) as clients:
            pids = workers(process, 3)
            connections = [socket.create_connection(("127.0.0.1", port), 5) for _ in range(CLIENTS)]
            query = b"\0\x17" + b"\0\1\1\0\0\1\0\0\0\0\0\0" + b"\1a\3org\0\0\1\0\1"
            with stopped(process.pid, *pids):
                for client in clients.all:
                    for number in range(5):
                        send(client, number)
                for connection in connections:
                    connection.sendall(query)
                process.kill(signal.SIGTERM)
            for client in clients.all:
                for number in range(5):
                    assert answered(client, number, 5)
            for connection in connections:
                assert answered_tcp(connection, 5)
                connection.close()
            assert process.wait() == 0
            assert process.errors == []
        ended(pids)

    def test_lameduck_is_served_by_all(self, tmp_path: Path, port: int) -> None:
        health = free_port()
        more = f"health 127.0.0.1:{health} {{\n        lameduck 30s\n    }}"
        with serving(tmp_path, corefile(port, 2, more), port) as process, Clients(port) as clients:
            process.kill(signal.SIGTERM)
            process.says("Going into lameduck mode for 30s")
            assert clients.all_answered(14)
            assert status(health, "/health") == 200
            assert process.stop(signal.SIGQUIT) == 0

    def test_a_worker_that_hangs_does_not_hold_up_the_stop_for_ever(self, tmp_path: Path, port: int) -> None:
        with serving(tmp_path, corefile(port, 2), port) as process:
            pids = workers(process, 2)
            with stopped(pids[0]):
                assert process.stop(signal.SIGINT) == 0
        ended(pids)


class TestEndpoints:
    def test_one_that_hangs_is_seen_and_its_siblings_serve(self, tmp_path: Path, port: int) -> None:
        health, ready = free_port(), free_port()
        more = f"health 127.0.0.1:{health}\n    ready 127.0.0.1:{ready}"
        text = corefile(port, 2, more, "whoami")
        with serving(tmp_path, text, port) as process, Clients(port) as clients:
            first, _ = workers(process, 2)
            assert (status(health, "/health"), status(ready, "/ready")) == (200, 200)
            _, others = clients.of(first)
            with stopped(first):
                assert (status(health, "/health"), status(ready, "/ready")) == (503, 503)
                for client in others:
                    send(client, 15)
                assert all(answered(client, 15, 5) for client in others)
            assert (status(health, "/health"), status(ready, "/ready")) == (200, 200)

    def test_metrics_are_sums_and_never_go_back(self, tmp_path: Path, port: int) -> None:
        metrics = free_port()
        name = "coredns_dns_requests_total"
        with (
            serving(tmp_path, corefile(port, 3, f"prometheus 127.0.0.1:{metrics}"), port) as process,
            Clients(port) as clients,
        ):
            process.says("Waypost-")
            start = counted(metrics, name)
            for number in range(10):
                assert clients.all_answered(number)
            total = counted(metrics, name)
            assert total - start == 10 * CLIENTS
            assert counted(metrics, "coredns_dns_request_duration_seconds_count") == total
            assert counted(metrics, "coredns_build_info") == 1
            assert counted(metrics, "process_resident_memory_bytes") > resident(process.pid)
            os.kill(workers(process, 3)[0], signal.SIGKILL)
            process.says("it is replaced")
            workers(process, 3)
            assert counted(metrics, name) >= total
            assert clients.all_answered(20)
            assert counted(metrics, name) == total + CLIENTS
            reload(process, tmp_path, corefile(port, 2, f"prometheus 127.0.0.1:{metrics}"), 1)
            workers(process, 2)
            assert counted(metrics, name) == total + CLIENTS

    def test_caches_are_listed_and_flushed_together(self, tmp_path: Path, port: int) -> None:
        admin = free_port()
        text = (
            f".:{port} {{\n    bind 127.0.0.1\n    multisocket 2\n    cache 300\n"
            f"    waypost {{\n        admin 127.0.0.1:{admin}\n    }}\n"
            '    template IN A example.org {\n        answer "{{ .Name }} 300 IN A 192.0.2.1"\n    }\n}\n'
        )
        with serving(tmp_path, text, port) as process, Clients(port) as clients:
            process.says("Waypost-")
            assert clients.all_answered(16)
            entries = json.loads(get(admin, "/cache?name=a.example.org"))
            assert [entry["name"] for entry in entries] == ["a.example.org."] * 2
            flush = urllib.request.Request(f"http://127.0.0.1:{admin}/cache/flush?name=a.example.org", method="POST")
            with urllib.request.urlopen(flush, timeout=5) as response:
                assert json.load(response) == {"flushed": 2}
            assert json.loads(get(admin, "/cache")) == []
            assert json.loads(get(admin, "/config"))["servers"]
            explain = urllib.request.Request(f"http://127.0.0.1:{admin}/explain?name=a.example.org", method="POST")
            with urllib.request.urlopen(explain, timeout=5) as response:
                assert json.load(response)["message"]


class TestCluster:
    @pytest.fixture
    def api(self):
        with ApiServer([api_namespace("a"), api_service("a/web", "10.96.0.1")], bookmark_every=0.1) as running:
            yield running

    def addresses(self, clients: Clients, name: str, number: int) -> set[str]:
        """What all workers say, by the rcode or the address."""
        import dns.message
        import dns.rcode

        found = set()
        for client in clients.all:
            send(client, number, name)
        for client in clients.all:
            client.settimeout(5)
            reply = dns.message.from_wire(client.recv(4096))
            while reply.id != number:
                reply = dns.message.from_wire(client.recv(4096))
            found.add(reply.answer[0][0].to_text() if reply.answer else dns.rcode.to_text(reply.rcode()))
        return found

    def test_one_watch_serves_all(self, tmp_path: Path, port: int, api: ApiServer) -> None:
        ready, metrics = free_port(), free_port()
        text = (
            f"cluster.local:{port} {{\n    bind 127.0.0.1\n    multisocket 3\n    ready 127.0.0.1:{ready}\n"
            f"    prometheus 127.0.0.1:{metrics}\n    kubernetes {{\n        endpoint {api.url}\n    }}\n}}\n"
        )
        with serving(tmp_path, text, port) as process, Clients(port) as clients:
            pids = workers(process, 3)
            assert self.addresses(clients, "web.a.svc.cluster.local.", 1) == {"10.96.0.1"}
            assert status(ready, "/ready") == 200
            asked = len(api.requests)
            api.put("services", api_service("a/web", "10.96.0.9"))
            api.put("services", api_service("a/new", "10.96.0.7"))
            process.until(lambda: self.addresses(clients, "new.a.svc.cluster.local.", 2) == {"10.96.0.7"}, "new")
            assert self.addresses(clients, "web.a.svc.cluster.local.", 3) == {"10.96.0.9"}
            os.kill(pids[0], signal.SIGKILL)
            process.says("it is replaced")
            api.put("services", api_service("a/late", "10.96.0.8"))
            process.until(lambda: self.addresses(clients, "late.a.svc.cluster.local.", 4) == {"10.96.0.8"}, "late")
            api.delete("services", "a", "web")
            process.until(lambda: self.addresses(clients, "web.a.svc.cluster.local.", 5) == {"NXDOMAIN"}, "no web")
            assert len(api.requests) == asked
            assert serials(clients) == 1
            assert counted(metrics, "waypost_kubernetes_objects") == 3

    def test_a_reload_with_another_selection_brings_its_data_to_all(
        self, tmp_path: Path, port: int, api: ApiServer
    ) -> None:
        text = (
            f"cluster.local:{port} {{\n    bind 127.0.0.1\n    multisocket 3\n"
            f"    kubernetes {{\n        endpoint {api.url}\n    }}\n}}\n"
        )
        with serving(tmp_path, text, port) as process, Clients(port) as clients:
            workers(process, 3)
            api.put("services", api_service("a/marked", "10.96.0.5"))
            marked = api_service("a/blue", "10.96.0.6")
            marked["metadata"]["labels"] = {"colour": "blue"}
            api.put("services", marked)
            selected = text.replace(api.url, f"{api.url}\n        labels colour=blue")
            reload(process, tmp_path, selected, 1)
            assert self.addresses(clients, "blue.a.svc.cluster.local.", 6) == {"10.96.0.6"}
            assert self.addresses(clients, "web.a.svc.cluster.local.", 7) == {"NXDOMAIN"}
            reload(process, tmp_path, text, 2)
            assert self.addresses(clients, "web.a.svc.cluster.local.", 8) == {"10.96.0.1"}

    def test_the_stock_corefile_through_a_death_a_reload_and_a_stop(
        self, tmp_path: Path, port: int, api: ApiServer
    ) -> None:
        """Nothing that was begun before the fork gets into the way of what ends after it."""
        upstream, addresses = free_port(), [f"127.0.0.1:{free_port()}" for _ in range(5)]
        folder = tmp_path / "upstream"
        folder.mkdir()
        text = STOCK.format(port, *addresses, api=api.url, upstream=f"127.0.0.1:{upstream}")
        with (
            serving(folder, corefile(upstream, 1), upstream),
            serving(tmp_path, text, port) as process,
            Clients(port) as clients,
        ):
            for times in range(1, 4):
                os.kill(workers(process, 3)[0], signal.SIGKILL)
                process.says("it is replaced", times=times)
                workers(process, 3)
                assert clients.all_answered(times)
                changed = text.replace("max_concurrent 1000", f"max_concurrent {1000 + times}")
                reload(process, tmp_path, changed, times)
                api.put("services", api_service("a/late", f"10.96.1.{times}"))
                name = "late.a.svc.cluster.local."
                process.until(lambda: self.addresses(clients, name, 77) == {f"10.96.1.{times}"}, "late")  # noqa: B023
            assert process.stop() == 0
            assert process.errors == []
        assert [line for line in process.lines if "[ERROR]" in line and "is replaced" not in line] == []


STOCK = """.:{} {{
    bind 127.0.0.1
    multisocket 3
    errors
    log
    health {}
    ready {}
    waypost {{
        admin {}
    }}
    kubernetes cluster.local in-addr.arpa {{
        endpoint {api}
        fallthrough in-addr.arpa
    }}
    prometheus {}
    pprof {}
    forward . {upstream} {{
        max_concurrent 1000
    }}
    cache 30
    loop
    reload
    loadbalance
}}
"""


def test_a_loop_is_found_whichever_worker_its_probes_come_to(tmp_path: Path, port: int) -> None:
    text = f".:{port} {{\n    bind 127.0.0.1\n    multisocket 3\n    loop\n    forward . 127.0.0.1:{port}\n}}\n"
    (tmp_path / "Corefile").write_text(text)
    with ServerProcess(["-conf", "Corefile"], cwd=tmp_path) as process:
        assert process.wait() == 1
    assert any("[FATAL] plugin/loop: Loop (" in line for line in process.lines)


def serials(clients: Clients) -> int:
    """How many different SOA serials the workers give."""
    import dns.message

    found = set()
    for client in clients.all:
        client.send(dns.message.make_query("cluster.local.", "SOA", id=99).to_wire())
        client.settimeout(5)
        found.add(dns.message.from_wire(client.recv(4096)).answer[0][0].serial)
    return len(found)


def resident(pid: int) -> int:
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0
