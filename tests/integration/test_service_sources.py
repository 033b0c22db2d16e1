"""nomad and route53 in the real process, each with an API on loopback; geoip with a database that a reload replaces."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import dns.rcode
from aiohttp import web

from support.asking import texts
from support.geoip import CAMBRIDGE, write_database
from support.http_script import Asked, HttpScript, as_json
from support.process import ask, free_port, get, serving

NOMAD = """\
.:{port} {{
    nomad {{
        address {url}
    }}
    ready 127.0.0.1:{ready}
    prometheus 127.0.0.1:{metrics}
    errors
}}
"""
ROUTE53 = """\
example.org:{port} {{
    route53 example.org:Z1 {{
        aws_access_key AKID secret
        aws_endpoint {url}
    }}
    errors
}}
"""
RECORD_SETS = """\
<?xml version="1.0"?>
<ListResourceRecordSetsResponse xmlns="https://route53.amazonaws.com/doc/2013-04-01/">
  <ResourceRecordSets>
    <ResourceRecordSet><Name>example.org.</Name><Type>SOA</Type><TTL>900</TTL><ResourceRecords><ResourceRecord>
      <Value>ns.example.net. admin.example.net. 1 7200 900 1209600 86400</Value>
    </ResourceRecord></ResourceRecords></ResourceRecordSet>
    <ResourceRecordSet><Name>\\052.example.org.</Name><Type>A</Type><TTL>30</TTL><ResourceRecords><ResourceRecord>
      <Value>192.0.2.1</Value>
    </ResourceRecord></ResourceRecords></ResourceRecordSet>
  </ResourceRecordSets>
  <IsTruncated>false</IsTruncated><MaxItems>1000</MaxItems>
</ListResourceRecordSetsResponse>
"""
GEOIP = """\
.:{port} {{
    metadata
    geoip {path}
    log . "city={{/geoip/city/name}}"
    whoami
}}
"""


def nomad(asked: Asked) -> web.Response:
    if asked.path == "/v1/service/redis":
        return as_json([{"Address": "192.0.2.1", "Port": 6379}])
    return as_json([] if asked.path.startswith("/v1/service/") else {})


async def test_nomad(tmp_path: Path) -> None:
    port, ready, metrics = free_port(), free_port(), free_port()

    def client(url: str) -> None:
        corefile = NOMAD.format(port=port, ready=ready, metrics=metrics, url=url)
        with serving(tmp_path, corefile, port) as process:
            name = "redis.default.service.nomad."
            assert texts(ask(port, name, "SRV").answer) == [f"{name} 30 SRV 10 10 6379 {name}"]
            assert ask(port, "none.default.service.nomad.").rcode() == dns.rcode.NXDOMAIN
            assert get(ready, "/ready") == "OK"
            labels = f'{{namespace="default",server="dns://:{port}"}}'
            assert f"coredns_nomad_success_requests_total{labels} 1" in get(metrics, "/metrics")
            assert process.stop() == 0
        assert process.errors == []

    async with HttpScript(nomad) as script:
        await asyncio.to_thread(client, script.url)


async def test_route53(tmp_path: Path) -> None:
    port = free_port()

    def client(url: str) -> None:
        with serving(tmp_path, ROUTE53.format(port=port, url=url), port) as process:
            assert texts(ask(port, "any.example.org.").answer) == ["any.example.org. 30 A 192.0.2.1"]
            assert process.stop() == 0
        assert process.errors == []

    async with HttpScript(lambda asked: web.Response(text=RECORD_SETS, content_type="text/xml")) as script:
        await asyncio.to_thread(client, script.url)
        (asked,) = script.seen
    assert asked.path == "/2013-04-01/hostedzone/Z1/rrset"
    assert "Credential=AKID/" in asked.headers["Authorization"]


def test_geoip_reads_the_database_again_at_a_reload(tmp_path: Path) -> None:
    port, path = free_port(), tmp_path / "db.mmdb"
    write_database(path, records={"127.0.0.0/8": CAMBRIDGE})
    with serving(tmp_path, GEOIP.format(port=port, path=path), port) as process:
        ask(port)
        process.says("city=Cambridge")
        write_database(path, records={"127.0.0.0/8": {"city": {"names": {"en": "Ghent"}}}})
        process.kill(signal.SIGUSR1)
        process.says("Reloading complete")
        ask(port)
        process.says("city=Ghent")
        assert process.stop() == 0
