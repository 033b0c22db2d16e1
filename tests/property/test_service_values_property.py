"""Whatever stands in etcd, in Route 53 or in a MaxMind file: an answer or a complaint, and never a fault of ours."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import dns.name
from hypothesis import given
from hypothesis import strategies as st

from waypost.plugins.etcd.layout import BadEntry, Layout
from waypost.plugins.geoip.labels import ASN, CITY
from waypost.plugins.route53.records import zone_of
from waypost.toolkit.zonedata import ZoneError
from waypost.wire import names
from waypost.wire.errors import BadName

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
FIELDS = ("host", "port", "priority", "weight", "text", "mail", "ttl", "targetstrip", "group")
HOSTS = st.sampled_from(["192.0.2.1", "2001:db8::1", "a.example.org", "a..b", "x" * 64, ".", "\\"])
VALUES = st.dictionaries(st.sampled_from(FIELDS), SCALARS | HOSTS) | SCALARS | st.lists(SCALARS)
NESTED: Any = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10)
ORIGIN = names.from_text("example.org.")


@given(st.binary(max_size=60), st.binary() | VALUES.map(lambda value: json.dumps(value).encode()))
def test_a_value_in_etcd_is_a_service_or_is_refused(key: bytes, value: bytes) -> None:
    try:
        service = Layout("/skydns").service(b"/skydns/" + key, value)
    except BadEntry:
        return
    if service.address or service.target:
        assert dns.name.from_wire(service.host, 0)[1] == len(service.host)


@given(st.binary(max_size=255))
def test_a_name_has_a_key_that_leads_back_to_it(raw: bytes) -> None:
    layout = Layout("/skydns")
    try:
        name = names.from_labels([label for label in raw.split(b".") if label]).lower()
    except BadName:
        return
    key = layout.key(name)
    assert (key is None) == any(b"/" in label for label in names.labels(name))
    if key is not None and name.isascii():
        assert layout.service(key, b'{"host": "192.0.2.1"}').name == name


SETS = st.fixed_dictionaries(
    {},
    optional={
        "Name": st.text() | st.just("www.example.org."),
        "Type": st.sampled_from(["A", "TXT", "NS", "CAA", "HTTPS", "x", ""]) | st.text(),
        "TTL": st.integers(),
        "ResourceRecords": st.lists(st.fixed_dictionaries({"Value": st.text() | HOSTS})),
        "AliasTarget": st.fixed_dictionaries({"DNSName": st.text()}),
    },
)


@given(SETS)
def test_a_record_set_is_read_or_complained_about(entry: dict[str, Any]) -> None:
    with contextlib.suppress(ZoneError):  # there is no SOA
        zone_of(ORIGIN, [entry], lambda text: None)


@given(NESTED | st.fixed_dictionaries({"location": NESTED, "subdivisions": NESTED, "country": NESTED}))
def test_every_label_has_a_text(record: object) -> None:
    assert all(isinstance(value(record), str) for value in (CITY | ASN).values())
