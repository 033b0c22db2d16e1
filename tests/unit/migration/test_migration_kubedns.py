"""ConfigMaps of kube-dns."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.corefile.stock import stock_corefile, stub_block
from waypost.migration.kubedns import KubeDnsError, convert, is_kube_dns


def test_stub_domains_and_upstreams() -> None:
    data = {"stubDomains": '{"example.local": ["10.100.0.10:53"]}', "upstreamNameservers": '["8.8.8.8:53"]'}
    made = convert(data, "cluster.local")
    assert made.notices == []
    assert made.text.count("forward . 8.8.8.8:53 {") == 1
    assert made.text.endswith("\n}\n\n" + stub_block("example.local", ["10.100.0.10:53"]))


@pytest.mark.parametrize("data", [{}, {"stubDomains": ""}, {"stubDomains": "{}", "upstreamNameservers": "[]"}])
def test_nothing_set(data: dict[str, str]) -> None:
    assert convert(data, "k8s.test") == (stock_corefile("k8s.test"), [])


def test_what_is_left_out() -> None:
    made = convert({"federations": '{"a": "b"}', "other": "x"}, "cluster.local")
    assert [notice.partition(":")[0] for notice in made.notices] == ["data.other", "data.federations"]
    assert made.text == stock_corefile("cluster.local")


def test_servers_of_every_kind() -> None:
    servers = ["192.0.2.1", "192.0.2.1:5353", "2001:db8::1", "[2001:db8::1]:5353", "dns.corp.test", "dns.corp.test:53"]
    text = convert({"stubDomains": json.dumps({"Corp.Test.": servers})}, "cluster.local").text
    assert f"corp.test:53 {{\n    errors\n    cache 30\n    forward . {' '.join(servers)} {{" in text


@pytest.mark.parametrize(
    ("key", "value", "place"),
    [
        ("stubDomains", "{", "data.stubDomains: not JSON"),
        ("stubDomains", "[]", "data.stubDomains: expected an object"),
        ("stubDomains", {"a": 1}, "data.stubDomains: expected JSON in text"),
        ("stubDomains", '{"a b": ["1.1.1.1"]}', 'data.stubDomains["a b"]: expected a domain'),
        ("stubDomains", '{".": ["1.1.1.1"]}', 'data.stubDomains["."]: expected a domain'),
        ("stubDomains", '{"a.test": []}', 'data.stubDomains["a.test"]: expected a list of servers'),
        ("stubDomains", '{"a.test": ["tls://1.1.1.1"]}', 'data.stubDomains["a.test"][0]: expected an address'),
        ("stubDomains", '{"a.test": ["1.1.1.1", 5]}', 'data.stubDomains["a.test"][1]: expected an address'),
        ("stubDomains", "[" * 100_000, "data.stubDomains: not JSON"),
        ("upstreamNameservers", '["dns.test"]', "data.upstreamNameservers[0]: expected an address"),
        ("upstreamNameservers", '["1.1.1.1:0"]', "data.upstreamNameservers[0]: expected an address"),
        ("upstreamNameservers", '["1.1.1.1:70000"]', "data.upstreamNameservers[0]: expected an address"),
        ("upstreamNameservers", '["fe80::1%eth0"]', "data.upstreamNameservers[0]: expected an address"),
        (
            "upstreamNameservers",
            '["1.1.1.1","1.1.1.2","1.1.1.3","1.1.1.4"]',
            "data.upstreamNameservers: expected a list",
        ),
        ("upstreamNameservers", '"1.1.1.1"', "data.upstreamNameservers: expected a list"),
    ],
)
def test_what_cannot_be_used(key: str, value: Any, place: str) -> None:
    with pytest.raises(KubeDnsError) as caught:
        convert({key: value}, "cluster.local")
    assert str(caught.value).startswith(place)


@given(st.text() | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(json.dumps))
def test_any_text(text: str) -> None:
    for key in ("stubDomains", "upstreamNameservers"):
        try:
            made = convert({key: text}, "cluster.local").text
        except KubeDnsError:
            continue
        assert made.count("{") == made.count("}")


def test_whose_config_map_it_is() -> None:
    assert is_kube_dns({"stubDomains": "{}"})
    assert not is_kube_dns({"Corefile": ""})
