"""Each code: a Corefile that has it, and one that has not and differs as little as may be."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from support.advising import codes, findings
from waypost.advice.rules import RULES
from waypost.advice.subject import Facts
from waypost.corefile.model import Token
from waypost.plugins.order import ORDER

STUB = Facts(ORDER, resolvers={"/etc/resolv.conf": ("127.0.0.53",)})
REAL = Facts(ORDER, resolvers={"/etc/resolv.conf": ("192.0.2.1", "192.0.2.2")})
UNSET = Facts(ORDER, environment=frozenset())
SET = Facts(ORDER, environment=frozenset({"TTL"}))
PLACE = Token("x", "Corefile", 1, 0, 1)


class Case(NamedTuple):
    """What stands in a block `.`, `; ` for a new line; `facts` belong to the first, `other` to the second."""

    code: str
    bad: str
    good: str
    facts: Facts = Facts(ORDER)
    other: Facts = Facts(ORDER)


CASES = [
    Case("W001", "forward . 127.0.0.1", "forward . 192.0.2.1"),
    Case("W001", "forward . [::1]:53 192.0.2.1", "forward . 127.0.0.1:5301 192.0.2.1"),
    Case("W001", "forward . dns://127.0.0.53", "forward . dns://192.0.2.1"),
    Case("W001", "forward . /etc/resolv.conf", "forward . /etc/resolv.conf", STUB, REAL),
    Case("W002", "forward . /etc/resolv.conf", "forward . /etc/resolv.conf; loop"),
    Case("W002", "forward . ./node.conf", "forward . 192.0.2.1"),
    Case("W003", "forward . 192.0.2.1", "forward . 192.0.2.1 192.0.2.2"),
    Case("W003", "forward . tls://192.0.2.1", "forward . /etc/resolv.conf"),
    Case("W004", "forward . 192.0.2.1 {; max_concurrent 10; }", "forward . 192.0.2.1 {; max_concurrent 1000; }"),
    Case("W005", "forward . 192.0.2.1", "forward . 192.0.2.1 {; max_concurrent 10; }"),
    Case("W005", "forward . 192.0.2.1 {; max_concurrent 0; }", "forward . 192.0.2.1 {; max_concurrent 1; }"),
    Case(
        "W006", "forward . 192.0.2.1 192.0.2.2 {; max_fails 0; }", "forward . 192.0.2.1 192.0.2.2 {; max_fails 1; }"
    ),
    Case("W007", "forward . 10.0.0.2 9.9.9.9", "forward . 10.0.0.2 10.0.0.3"),
    Case("W007", "forward . 10.0.0.2 9.9.9.9", "forward . 10.0.0.2 9.9.9.9 {; policy sequential; }"),
    Case("W008", "forward . tls://9.9.9.9", "forward . tls://9.9.9.9%dns.quad9.net"),
    Case("W008", "forward . tls://9.9.9.9", "forward . tls://9.9.9.9 {; tls_servername dns.quad9.net; }"),
    Case("W101", "kubernetes cluster.local; cache 30", "kubernetes cluster.local; cache 30 example.org"),
    Case(
        "W101", "kubernetes a.local; cache {; disable success a.local; }",
        "kubernetes a.local; cache {; disable success a.local; disable denial; }",
    ),
    Case("W102", "forward . 192.0.2.1", "forward . 192.0.2.1; cache"),
    Case("W103", "cache {; serve_stale; }", "cache {; serve_stale 1h verify; }"),
    Case("W104", "cache 30s", "cache 30"),
    Case("W104", "cache 1h30m example.org", "cache 30 1.0.10.in-addr.arpa"),
    Case("W105", "cache {; success 500; }", "cache {; success 5000; }"),
    Case(
        "W201", "kubernetes a.local; autopath @kubernetes",
        "kubernetes a.local {; pods verified; }; autopath @kubernetes",
    ),
    Case("W201", "kubernetes a.local; autopath a.local @kubernetes", "autopath /etc/resolv.conf"),
    Case("W202", "autopath /etc/resolv.conf; cache", "autopath /etc/resolv.conf"),
    Case("W203", "autopath /etc/resolv.conf; whoami", "autopath /etc/resolv.conf; forward . 192.0.2.1"),
    Case(
        "W204", "kubernetes a.local in-addr.arpa; forward . 192.0.2.1",
        "kubernetes a.local in-addr.arpa {; fallthrough in-addr.arpa; }; forward . 192.0.2.1",
    ),
    Case(
        "W204", "kubernetes a.local ip6.arpa; forward . 192.0.2.1",
        "kubernetes a.local 10.0.0.0/8; forward . 192.0.2.1",
    ),
    Case(
        "W205", "kubernetes a.local in-addr.arpa {; fallthrough; }; forward . 192.0.2.1",
        "kubernetes a.local in-addr.arpa {; fallthrough in-addr.arpa; }; forward . 192.0.2.1",
    ),
    Case("W206", "kubernetes a.local; forward . 192.0.2.1", "kubernetes a.local 10.0.0.0/8; forward . 192.0.2.1"),
    Case("W207", "kubernetes a.local {; pods insecure; }", "kubernetes a.local {; pods verified; }"),
    Case("W208", "kubernetes a.local {; ttl 0; }", "kubernetes a.local {; ttl 1; }"),
    Case("W208", "kubernetes a.local; k8s_external b.local {; ttl 0; }", "kubernetes a.local; k8s_external b.local"),
    Case("W209", "kubernetes a.local {; noendpoints; }", "kubernetes a.local"),
    Case("W303", "file a example.org; file b example.org", "file a example.org; file b example.net"),
    Case("W307", "log; errors", "log; whoami"),
    Case("W308", "cache {$TTL}; whoami", "cache {$TTL}", UNSET, SET),
    Case("W308", "cache {%TTL%}", "cache {$TTL}", UNSET),
    Case("W309", "chaos a#b c d", "chaos a #b c d"),
    Case("W401", "cache {; servfail 1s; servfail 2s; }", "cache {; servfail 1s; prefetch 1; }"),
    Case(
        "W401", "cache {; disable success a.org; disable success b.org; }",
        "cache {; disable success a.org; disable denial a.org; }",
    ),
    Case("W401", "health :1; health :2", "health :1"),
    Case("W402", "cache {; prefetch 0; }", "cache {; prefetch 1; }"),
    Case(
        "W402", "cache {; serve_stale_policy prefer_positive; }",
        "cache {; serve_stale; serve_stale_policy prefer_positive; }",
    ),
    Case("W402", "forward . 192.0.2.1 {; force_tcp; prefer_udp; }", "forward . 192.0.2.1 {; prefer_udp; }"),
    Case(
        "W402", "forward . 192.0.2.1 {; tls_servername a.org; }",
        "forward . tls://192.0.2.1 {; tls_servername a.org; }",
    ),
    Case("W402", "forward a.org 192.0.2.1 {; except b.org; }", "forward a.org 192.0.2.1 {; except b.a.org; }"),
    Case(
        "W402", "forward . 192.0.2.1 {; resolver 192.0.2.2; }",
        "forward . tls://dns.example {; resolver 192.0.2.2; }",
    ),
    Case(
        "W402", "kubernetes a.local {; noendpoints; endpoint_pod_names; }",
        "kubernetes a.local {; endpoint_pod_names; }",
    ),
    Case("W402", "kubernetes a.local {; kubeconfig x; endpoint http://a; }", "kubernetes a.local {; kubeconfig x; }"),
    Case("W402", "kubernetes a.local {; tls a b c; }", "kubernetes a.local {; endpoint http://a; tls a b c; }"),
    Case("W402", "health {; lameduck 0s; }", "health {; lameduck 1s; }"),
    Case("W402", "dns64 64:ff9b::/96 {; allow_ipv4; }", "dns64 {; prefix 64:ff9b::/96; allow_ipv4; }"),
    Case("W402", "template ANY ANY {; upstream; rcode NXDOMAIN; }", "template ANY ANY {; rcode NXDOMAIN; }"),
    Case("W403", "forward . 192.0.2.1; forward . 192.0.2.2", "forward a.org 192.0.2.1; forward . 192.0.2.2"),
    Case("W403", "forward . 192.0.2.1; whoami", "forward a.org 192.0.2.1; whoami"),
    Case("W403", "kubernetes; file a example.org", "kubernetes {; fallthrough; }; file a example.org"),
    Case(
        "W403", "forward . 192.0.2.1; forward a.org 192.0.2.2",
        "forward . 192.0.2.1 {; except a.org; }; forward a.org 192.0.2.2",
    ),
    Case("W404", "hosts; forward . 192.0.2.1", "hosts {; fallthrough; }; forward . 192.0.2.1"),
    Case("W404", "hosts; whoami", "hosts"),
    Case(
        "W405", "template IN A {; match ^a\\.$; rcode NXDOMAIN; }; whoami",
        "template IN A {; match ^a\\.$; rcode NXDOMAIN; fallthrough; }; whoami",
    ),
    Case("W405", "template IN A {; match ^a\\.$; }; whoami", "template IN A {; match .*; }; whoami"),
    Case("W406", "kubernetes a.local {; fallthrough; }", "kubernetes a.local {; fallthrough; }; forward . 192.0.2.1"),
    Case("W407", 'log "{type} {name}"', 'log . "{type} {name}"'),
    Case("W408", "log .; {; class error; }", "log . {; class error; }"),
    Case("W501", "forward . 192.0.2.1", "forward . 192.0.2.1; errors"),
    Case("W502", "kubernetes a.local", "kubernetes a.local; health"),
    Case("W502", "kubernetes a.local", "forward . 192.0.2.1"),
    Case("W503", "health", "health {; lameduck 5s; }"),
    Case("W504", "kubernetes a.local", "kubernetes a.local; ready"),
    Case("W505", "kubernetes a.local", "kubernetes a.local; reload"),
    Case("W506", "kubernetes a.local", "kubernetes a.local; prometheus :9153"),
    Case("W507", "kubernetes a.local; prometheus", "kubernetes a.local; prometheus :9153"),
    Case("W508", "log", "log . {; class error; }"),
    Case("W508", "log . {; class all; }", "log . {; class denial; class error; }"),
    Case("W509", "debug", "errors"),
    Case("W510", "bufsize 4096", "bufsize"),
    Case("W601", r"rewrite name regex a\.org b.org", r"rewrite name regex ^a\.org\.$ b.org"),
    Case("W601", "template IN A {; match ^a[.]org; }", "template IN A {; match ^a[.]org[.]$; }"),
    Case("W602", r"rewrite name regex ^a\.org$ b.org", r"rewrite name regex ^a\.org\.$ b.org"),
    Case("W602", "template IN A {; match ^A\\.$; }", "template IN A {; match (?i)^A\\.$; }"),
    Case("W603", r"rewrite name regex ^a.org\.$ b.org", r"rewrite name regex ^a\.org\.$ b.org"),
    Case("W604", "rewrite name suffix a.org b.org", "rewrite name suffix a.org b.org answer auto"),
    Case("W604", "rewrite stop {; name regex ^(a)\\.$ {1}b.; }", "rewrite name a.org b.org"),
    Case("W701", "health :8080; ready :8080", "health; ready"),
    Case("W701", "prometheus localhost:8080; health", "prometheus 127.0.0.1:8080; health 127.0.0.2:8080"),
    Case("W701", "waypost {; admin :9153; }; prometheus", "waypost {; admin; }; prometheus"),
    Case("W701", "health 127.0.0.1:53", "bind 127.0.0.1; health 127.0.0.2:53"),
    Case("W703", "pprof :6053", "pprof"),
    Case(
        "W801", "tsig {; secrets /k; }", "tsig {; secrets /k; }",
        Facts(ORDER, modes={"/k": 0o644}), Facts(ORDER, modes={"/k": 0o640}),
    ),
    Case("W801", "root /d/; tls c k", "tls c k", Facts(ORDER, modes={"/d/k": 0o604}), Facts(ORDER, modes={"c": 0o644})),
    Case("W801", "dnssec {; key file /K.key; }", "dnssec", Facts(ORDER, modes={"/K.private": 0o444, "/K.key": 0o600})),
    Case(
        "W801", "forward . tls://192.0.2.1 {; tls c k ca; }",
        "forward . tls://192.0.2.1", Facts(ORDER, modes={"k": 0o4}),
    ),
    Case("W802", "tsig {; secret a. aaaa; }", "tsig {; secrets /k; }"),
    Case("W803", "transfer {; to *; }", "transfer {; to 192.0.2.1; }"),
    Case("W803", "transfer {; to *; }", "transfer {; to *; }; acl {; block; }"),
    Case("W901", "whoami", "whoami", Facts(ORDER, warnings=((PLACE, "mind the gap"),))),
    Case("W902", "whoami", "whoami", Facts(ORDER, missing=((PLACE, "no such file"),))),
    Case("W903", "whoami # waypost: ignore W000", "whoami # waypost: ignore W508"),
]  # fmt: skip

BLOCKS = [
    ("W301", "# nothing\n", ".:53 {\n}\n"),
    ("W302", "a.org,b.org {\nwhoami\n}", "a.org, b.org {\nwhoami\n}"),
    ("W302", "10.0.0.1 {\nwhoami\n}", "10.0.0.0/8 {\nwhoami\n}"),
    ("W302", "[::1]:53 {\nwhoami\n}", "tls://.:853 {\nwhoami\n}"),
    ("W302", "DNS://. {\nwhoami\n}", "dns://. {\nwhoami\n}"),
    ("W302", "*.a.org {\nwhoami\n}", "a.org {\nwhoami\n}"),
    ("W302", ". {\nwhoami\n}\n}", ". {\nwhoami\n}"),
    ("W304", "a.org {\nfile db b.org\n}", "a.org {\nfile db b.a.org\n}"),
    ("W304", "a.org {\ncache 30 30s\nforward . 192.0.2.1\n}", "a.org {\nkubernetes b.a.org in-addr.arpa\n}"),
    ("W305", ". {\nfile db b.org\n}\nb.org {\nwhoami\n}", ". {\nfile db b.org\n}\nb.org:1053 {\nwhoami\n}"),
    (
        "W306",
        ". {\nwhoami\n}\n. {\nview v {\nexpr true\n}\nwhoami\n}",
        ". {\nview v {\nexpr true\n}\nwhoami\n}\n. {\nwhoami\n}",
    ),
    ("W307", "a.org {\n}", "a.org {\nhosts\n}"),
    ("W506", ". {\nprometheus\nwhoami\n}\na.org {\nforward . 192.0.2.1\n}", "a.org {\nforward . 192.0.2.1\n}"),
    ("W702", "tls://. {\nwhoami\n}", "tls://. {\ntls c k\nwhoami\n}"),
]


def block(body: str) -> str:
    return ". {{\n{}\n}}\n".format(body.replace("; ", "\n"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.code)
def test_a_block_that_has_it_and_one_that_has_not(case: Case) -> None:
    assert case.code in codes(block(case.bad), case.facts)
    assert case.code not in codes(block(case.good), case.other)


@pytest.mark.parametrize(("code", "bad", "good"), BLOCKS)
def test_a_corefile_that_has_it_and_one_that_has_not(code: str, bad: str, good: str) -> None:
    assert code in codes(bad)
    assert code not in codes(good)


def test_every_code_is_tried() -> None:
    assert {rule.code for rule in RULES} == {case.code for case in CASES} | {code for code, _, _ in BLOCKS}


def test_a_finding_has_its_place_and_words() -> None:
    (found,) = findings(". {\n    errors\n    pprof  :6053\n    whoami\n}\n")
    assert (found.file, found.line, found.column, found.code, found.severity) == ("Corefile", 3, 5, "W703", "warning")
    assert found.found == "`pprof` listens on every address"
    assert found.remedy == "Write `pprof` without an address."


def test_the_stock_corefile_is_fine() -> None:
    """What kubeadm writes has one thing that it need not have."""
    text = """\
.:53 {
    errors
    health {
       lameduck 5s
    }
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
       ttl 30
    }
    prometheus :9153
    forward . /etc/resolv.conf {
       max_concurrent 1000
    }
    cache 30 {
       disable success cluster.local
       disable denial cluster.local
    }
    loop
    reload
    loadbalance
}
"""
    assert codes(text, REAL) == {"W207"}
