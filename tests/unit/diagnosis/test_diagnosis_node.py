"""A node's resolv.conf and its connection tracking."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from support.dnscluster import CONNTRACK, configuration, facts, findings, node_files, verdicts
from waypost.diagnosis.conntrack import parse_statistics
from waypost.diagnosis.facts import Facts, NodeText
from waypost.diagnosis.finding import Gap
from waypost.podside.policy import Kubelet

STUB = "nameserver 127.0.0.53\noptions edns0 trust-ad\nsearch .\n"


def node(text: str, **files: Any) -> Facts:
    return facts(node=node_files(text, **files))


@pytest.mark.parametrize("code", ["D401", "D402", "D403", "D404", "D405", "D406", "D407"])
class TestEach:
    def test_healthy(self, code: str) -> None:
        assert verdicts(code, facts()) == ["ok"]

    def test_without_a_node(self, code: str) -> None:
        [found] = findings(code, facts(node=Gap("no node")))
        assert (found.verdict, found.summary) == ("unknown", "no node")


class TestFile:
    def test_no_resolver(self) -> None:
        assert verdicts("D401", node("search corp.example\n")) == ["failure"]

    def test_cannot_be_parsed(self) -> None:
        [found] = findings("D401", node("nameserver\n"))
        assert found.verdict == "failure"
        assert "nameserver list is empty" in found.evidence[0]

    def test_the_others_go_on(self) -> None:
        assert verdicts("D403", node("nameserver\n")) == ["ok"]

    def test_missing(self) -> None:
        given = facts(node=replace(node_files(), resolv_conf=Gap("/etc/resolv.conf: No such file or directory")))
        assert verdicts("D401", given) == ["unknown"]


class TestLoopback:
    @pytest.mark.parametrize("server", ["127.0.0.53", "127.0.0.1", "::1"])
    def test_with_forward_to_the_file(self, server: str) -> None:
        [found] = findings("D402", node(f"nameserver {server}\n"))
        assert found.verdict == "failure"
        assert found.evidence == (
            f"/etc/resolv.conf: nameserver {server}",
            "ConfigMap kube-system/coredns: forward to /etc/resolv.conf",
        )

    def test_the_remedy_names_the_file_of_resolved(self) -> None:
        uplinks = NodeText("/run/systemd/resolve/resolv.conf", b"nameserver 192.0.2.53\n")
        [found] = findings("D402", node(STUB, resolved_uplinks=uplinks))
        assert "resolvConf: /run/systemd/resolve/resolv.conf" in found.remedy

    def test_with_forward_to_addresses(self) -> None:
        given = facts(node=node_files(STUB), configuration=configuration(upstreams=("192.0.2.53",)))
        assert verdicts("D402", given) == ["warning"]

    def test_corefile_unknown(self) -> None:
        assert verdicts("D402", facts(node=node_files(STUB), configuration=Gap("none"))) == ["failure"]

    @pytest.mark.parametrize("server", ["192.0.2.53", "fe80::1%eth0", "nonsense"])
    def test_others(self, server: str) -> None:
        assert verdicts("D402", node(f"nameserver {server}\n")) == ["ok"]


class TestLists:
    @pytest.mark.parametrize(("count", "verdict"), [(3, "ok"), (4, "warning")])
    def test_nameservers(self, count: int, verdict: str) -> None:
        assert verdicts("D403", node("".join(f"nameserver 192.0.2.{last}\n" for last in range(count)))) == [verdict]

    @pytest.mark.parametrize(("count", "verdict"), [(29, "ok"), (30, "warning")])
    def test_search_domains(self, count: int, verdict: str) -> None:
        line = " ".join(f"d{number}.example" for number in range(count))
        assert verdicts("D404", node(f"search {line}\n")) == [verdict]

    def test_a_kubelet_without_domain_has_room_for_its_three_all_the_same(self) -> None:
        line = " ".join(f"d{number}.example" for number in range(30))
        assert verdicts("D404", node(f"search {line}\n", kubelet=Kubelet())) == ["warning"]

    def test_a_comment_behind_the_search_list(self) -> None:
        [found] = findings("D404", node("search corp.example # ours\n"))
        assert (found.verdict, found.evidence) == ("warning", ("/etc/resolv.conf: search corp.example # ours",))

    def test_domain(self) -> None:
        assert verdicts("D404", node("domain corp.example\n")) == ["warning"]

    @pytest.mark.parametrize(
        ("options", "verdict"),
        [
            ("ndots:1 timeout:2", "ok"), ("ndots:5", "warning"), ("ndots:15", "warning"), ("ndots:x", "ok"),
            ("attempts:0", "warning"), ("timeout:0", "warning"), ("rotate edns0", "ok"),
        ],
    )  # fmt: skip
    def test_options(self, options: str, verdict: str) -> None:
        assert verdicts("D405", node(f"options {options}\n")) == [verdict]


class TestConntrack:
    def statistics(self, **columns: int) -> str:
        names = CONNTRACK.split("\n")[0].split()
        row = " ".join(f"{columns.get(name, 0):08x}" for name in names)
        return f"{' '.join(names)}\n{row}\n{row}\n"

    @pytest.mark.parametrize(
        ("columns", "verdict"),
        [
            ({}, "ok"),
            ({"insert_failed": 10, "clashres": 10}, "ok"),
            ({"insert_failed": 10, "drop": 9}, "warning"),
            ({"drop": 9}, "ok"),
        ],
    )
    def test_insert_failed(self, columns: dict[str, int], verdict: str) -> None:
        text = self.statistics(**columns).encode()
        [found] = findings("D406", facts(node=node_files(conntrack=NodeText("/proc/net/stat/nf_conntrack", text))))
        assert found.verdict == verdict
        assert f"insert_failed {2 * columns.get('insert_failed', 0)}" in found.evidence[0]

    def test_counts_are_added_up_and_the_table_is_not(self) -> None:
        assert parse_statistics(CONNTRACK)["entries"] == 0x12
        assert parse_statistics(CONNTRACK)["invalid"] == 13

    @pytest.mark.parametrize("text", ["", "entries\n1\n", "insert_failed drop\nxyz 1\n", "\x00\xff"])
    def test_not_understood(self, text: str) -> None:
        given = facts(node=node_files(conntrack=NodeText("/proc/x", text.encode())))
        assert verdicts("D406", given) == ["unknown"]

    def test_rows_that_are_shorter(self) -> None:
        assert parse_statistics("entries insert_failed drop\n1 2\n")["insert_failed"] == 2

    @pytest.mark.parametrize(
        ("count", "verdict"), [("0", "ok"), ("70", "ok"), ("80", "warning"), ("95", "failure"), ("many", "unknown")]
    )
    def test_table(self, count: str, verdict: str) -> None:
        files = {"conntrack_count": NodeText("c", count.encode()), "conntrack_max": NodeText("m", b"100\n")}
        assert verdicts("D407", facts(node=node_files(**files))) == [verdict]
