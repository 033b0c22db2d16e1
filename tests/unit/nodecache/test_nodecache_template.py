"""Placeholders, stub domains, and what must not stay."""

from __future__ import annotations

import pytest

from support.corefiles import DictReader
from waypost.addon.nodelocal import Mode, NodeLocal, corefile
from waypost.addon.settings import Settings
from waypost.corefile.parser import parse
from waypost.nodecache.template import TemplateError, Values, render, service_variable
from waypost.plugins.order import ORDER

VALUES = Values(
    local_ips=("169.254.20.10", "10.96.0.10"),
    cluster_dns="10.96.0.77",
    told_by="KUBE_DNS_UPSTREAM_SERVICE_HOST",
    upstreams=(),
    stub_domains={},
    port="53",
    bind=("169.254.20.10", "10.96.0.10"),
)


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("bind __PILLAR__LOCAL__DNS__ __PILLAR__DNS__SERVER__", VALUES, "bind 169.254.20.10 10.96.0.10 "),
        ("health __PILLAR__LOCAL__DNS__:8080", VALUES, "health 169.254.20.10:8080"),
        ("health __PILLAR__LOCAL__DNS__:8080", VALUES._replace(local_ips=("fd00::a",)), "health [fd00::a]:8080"),
        ("forward . __PILLAR__CLUSTER__DNS__", VALUES, "forward . 10.96.0.77"),
        ("forward . __PILLAR__UPSTREAM__SERVERS__", VALUES, "forward . /etc/resolv.conf"),
        ("forward . __PILLAR__UPSTREAM__SERVERS__", VALUES._replace(upstreams=("8.8.8.8", "1.1.1.1:53")),
         "forward . 8.8.8.8 1.1.1.1:53"),
        ("forward . __PILLAR__UPSTREAM__SERVERS__ {\n  force_tcp\n}", VALUES,
         "forward . /etc/resolv.conf {\n  force_tcp\n}"),
        ("forward . __PILLAR__UPSTREAM__SERVERS__ {\n            force_tcp\n    }",
         VALUES._replace(upstreams=("8.8.8.8",)), "forward . 8.8.8.8"),
        ("forward . __PILLAR__CLUSTER__DNS__ { # of __PILLAR__DNS__DOMAIN__", VALUES,
         "forward . 10.96.0.77 { # of __PILLAR__DNS__DOMAIN__"),
    ],
)  # fmt: skip
def test_placeholders(text: str, values: Values, expected: str) -> None:
    assert render(text, "base", values) == f"{expected}\n"


def test_what_stays_is_an_error() -> None:
    with pytest.raises(TemplateError, match=r"^base:2: __PILLAR__DNS__DOMAIN__ is filled in by whoever"):
        render("# a\n__PILLAR__DNS__DOMAIN__:53 {\n}\n", "base", VALUES)
    with pytest.raises(TemplateError, match=r"^base:1: .* KUBE_DNS_UPSTREAM_SERVICE_HOST is not in the environment"):
        render("forward . __PILLAR__CLUSTER__DNS__", "base", VALUES._replace(cluster_dns=""))


def test_stub_domains_come_in_the_same_order_every_time() -> None:
    stubs = {"b.test": ["192.0.2.1"], "a.test": ["192.0.2.2:5353", "dns.corp.test"]}
    text = render("", "base", VALUES._replace(stub_domains=stubs, port="1053"))
    assert text == render("", "base", VALUES._replace(stub_domains=dict(reversed(stubs.items())), port="1053"))
    assert text.split("\n\n")[-1].startswith(
        "\na.test:1053 {\n    errors\n    cache 30\n    bind 169.254.20.10 10.96.0.10\n"
    )
    assert "    forward . 192.0.2.2:5353 dns.corp.test\n}\nb.test:1053 {\n" in text


def test_stub_domains_bind_as_the_template_where_the_addresses_are_not_ours() -> None:
    values = VALUES._replace(bind=(), stub_domains={"a.test": ["192.0.2.1"]})
    assert render(".:53 {\n    bind 0.0.0.0 # all\n}\n", "base", values).count("    bind 0.0.0.0") == 2
    assert "bind" not in render(".:53 {\n}\n", "base", values)


@pytest.mark.parametrize("mode", ["iptables", "ipvs", "cilium"])
def test_the_delivered_templates(mode: Mode) -> None:
    base = corefile(Settings("waypost"), NodeLocal(mode))
    text = render(base, "base", VALUES._replace(stub_domains={"a.test": ["192.0.2.1"]}))
    blocks = parse(text, "Corefile", env={}, known=ORDER, read=DictReader()).blocks
    assert [[label.text for label in block.labels] for block in blocks][-1] == ["a.test:53"]
    assert "__PILLAR__" not in text


def test_the_variable_of_a_service() -> None:
    assert service_variable("kube-dns-upstream") == "KUBE_DNS_UPSTREAM_SERVICE_HOST"
