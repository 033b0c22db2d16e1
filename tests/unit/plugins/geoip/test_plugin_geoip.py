from __future__ import annotations

from pathlib import Path
from typing import Any

import dns.edns
import pytest

from support.asking import Block, block
from support.chain import FakeProcess, make_directive, make_request, make_site, make_wire
from support.geoip import CAMBRIDGE, CLOUD, write_database
from support.serving import Serving
from support.upstream import until
from waypost.corefile.errors import CorefileError
from waypost.plugins.geoip import parse, setup
from waypost.toolkit import extras
from waypost.toolkit.replacer import metadata_value
from waypost.wire.reply import DROP

KNOWN = {
    "geoip/city/name": "Cambridge",
    "geoip/continent/code": "EU",
    "geoip/continent/name": "Europe",
    "geoip/country/code": "GB",
    "geoip/country/is_in_european_union": "false",
    "geoip/country/name": "United Kingdom",
    "geoip/latitude": "52.2242",
    "geoip/longitude": "0.1315",
    "geoip/postalcode": "CB4",
    "geoip/subdivisions/code": "ENG,CAM",
    "geoip/timezone": "Europe/London",
}
UNKNOWN = {label: "false" if "union" in label else "" for label in KNOWN}


def labels(made: Block, **how: Any) -> dict[str, str]:
    """What the plugin says of one query."""
    request = make_request(site=made.site, **how)
    handler: Any = made.site.handlers["geoip"][0]
    request.metadata = dict(handler.metadata(request))
    return {label: metadata_value(request, label) or "" for label in sorted(request.metadata)}


def with_subnet(address: str, bits: int) -> bytes:
    return make_wire(options=(dns.edns.ECSOption(address, bits),))


@pytest.mark.parametrize("client", ["192.0.2.9", "2001:db8::9", "2001:db8::9%eth0"])
def test_city(tmp_path: Path, client: str) -> None:
    made = block(setup, f"geoip {write_database(tmp_path / 'db')}")
    assert labels(made, client=(client, 4000)) == KNOWN


@pytest.mark.parametrize("client", ["198.51.100.1", "2001:db9::1"])
def test_client_that_the_database_does_not_know(tmp_path: Path, client: str) -> None:
    made = block(setup, f"geoip {write_database(tmp_path / 'db')}")
    assert labels(made, client=(client, 4000)) == UNKNOWN


def test_ipv6_client_and_a_database_of_ipv4(tmp_path: Path) -> None:
    path = write_database(tmp_path / "db", records={"192.0.2.0/24": CAMBRIDGE}, ip_version=4)
    made = block(setup, f"geoip {path}")
    assert labels(made, client=("2001:db8::9", 4000)) == UNKNOWN
    assert labels(made, client=("192.0.2.1", 4000)) == KNOWN


def test_asn(tmp_path: Path) -> None:
    made = block(setup, f"geoip {write_database(tmp_path / 'db', 'GeoLite2-ASN', {'192.0.2.0/24': CLOUD})}")
    assert labels(made) == {"geoip/asn/number": "396982", "geoip/asn/org": "EXAMPLE-CLOUD"}
    assert labels(made, client=("203.0.113.1", 1)) == {"geoip/asn/number": "0", "geoip/asn/org": ""}


def test_enterprise_database_with_both(tmp_path: Path) -> None:
    path = write_database(tmp_path / "db", "DBIP-ISP (compat=Enterprise)", {"192.0.2.0/24": CAMBRIDGE | CLOUD})
    assert labels(block(setup, f"geoip {path}")) == KNOWN | {
        "geoip/asn/number": "396982",
        "geoip/asn/org": "EXAMPLE-CLOUD",
    }


@pytest.mark.parametrize(
    ("record", "label", "value"),
    [
        ({"location": {"latitude": 0.0}}, "geoip/latitude", "0"),
        ({"location": {"latitude": -7.0}}, "geoip/latitude", "-7"),
        ({"location": {"latitude": 0.00001}}, "geoip/latitude", "0.00001"),
        ({"location": {"longitude": 100}}, "geoip/longitude", "100"),
        ({"location": {"longitude": "east"}}, "geoip/longitude", ""),
        ({"location": ["somewhere"]}, "geoip/longitude", ""),
        ({"country": {"is_in_european_union": True}}, "geoip/country/is_in_european_union", "true"),
        ({"city": {"names": {"fr": "Gand"}}}, "geoip/city/name", ""),
        ({"subdivisions": [{"iso_code": "VLG"}, {}]}, "geoip/subdivisions/code", "VLG,"),
        ({"subdivisions": "VLG"}, "geoip/subdivisions/code", ""),
    ],
)
def test_values(tmp_path: Path, record: dict[str, object], label: str, value: str) -> None:
    made = block(setup, f"geoip {write_database(tmp_path / 'db', records={'192.0.2.0/24': record})}")
    assert labels(made)[label] == value


def test_client_subnet_counts_only_if_it_is_asked_for(tmp_path: Path) -> None:
    path = write_database(tmp_path / "db")
    far = ("203.0.113.5", 4000)
    plain, by_subnet = block(setup, f"geoip {path}"), block(setup, f"geoip {path} {{\nedns-subnet\n}}")
    assert labels(plain, client=far, wire=with_subnet("192.0.2.0", 24)) == UNKNOWN
    assert labels(by_subnet, client=far, wire=with_subnet("192.0.2.0", 24)) == KNOWN
    assert labels(by_subnet, client=far, wire=with_subnet("2001:db8::", 48)) == KNOWN
    assert labels(by_subnet, client=("192.0.2.9", 1), wire=with_subnet("203.0.113.0", 24)) == UNKNOWN
    assert labels(by_subnet, client=("192.0.2.9", 1)) == KNOWN


def test_a_client_that_hides_its_subnet_is_nowhere(tmp_path: Path) -> None:
    made = block(setup, f"geoip {write_database(tmp_path / 'db')} {{\nedns-subnet\n}}")
    assert labels(made, wire=with_subnet("0.0.0.0", 0)) == UNKNOWN
    nobody = dns.edns.GenericOption(dns.edns.OptionType.ECS, b"\0\0\0\0")
    assert labels(made, wire=make_wire(options=(nobody,))) == UNKNOWN


async def test_queries_pass(tmp_path: Path) -> None:
    made = block(setup, f"geoip {write_database(tmp_path / 'db')}", reply=DROP)
    assert await made.reply("a.example.org.") is DROP


def test_the_database_is_asked_when_a_label_is_read_and_once_only(tmp_path: Path) -> None:
    made = block(setup, f"geoip {write_database(tmp_path / 'db')}")
    handler: Any = made.site.handlers["geoip"][0]
    asked: list[str] = []

    class Spy:
        def look_up(self, address: str) -> object:
            asked.append(address)
            return CAMBRIDGE

    handler._database = Spy()
    found = dict(handler.metadata(make_request()))
    assert asked == []
    assert found["geoip/city/name"]() == "Cambridge"
    assert found["geoip/postalcode"]() == "CB4"
    assert asked == ["192.0.2.9"]


def test_a_file_cut_short_while_it_is_open_does_no_harm(tmp_path: Path) -> None:
    path = write_database(tmp_path / "db")
    made = block(setup, f"geoip {path}")
    path.write_bytes(b"")
    assert labels(made) == KNOWN


def test_a_new_configuration_reads_the_new_file(tmp_path: Path) -> None:
    path = write_database(tmp_path / "db")
    old = block(setup, f"geoip {path}")
    write_database(path, records={"192.0.2.0/24": {"city": {"names": {"en": "Ghent"}}}})
    assert labels(block(setup, f"geoip {path}"))["geoip/city/name"] == "Ghent"
    assert labels(old)["geoip/city/name"] == "Cambridge"


def test_damaged_database(tmp_path: Path) -> None:
    """The pointers of its tree lead nowhere: nothing is known, and one line says so."""
    path = write_database(tmp_path / "db")
    content = path.read_bytes()
    end = content.index(b"\0" * 16)
    path.write_bytes(b"\xff" * end + content[end:])
    process = FakeProcess()
    made = block(setup, f"geoip {path}", process=process)
    assert labels(made) == labels(made) == UNKNOWN
    assert sum("database lookup failed" in line for line in process.lines) == 1


def test_a_block_without_metadata_is_told(tmp_path: Path) -> None:
    process = FakeProcess()
    block(setup, f"geoip {write_database(tmp_path / 'db')}", process=process)
    assert ["block has no metadata" in line for line in process.lines] == [True]
    site = make_site(process=FakeProcess())
    site.collect = lambda request: None
    setup(make_directive(f"geoip {tmp_path / 'db'}"), site)
    assert site.log._shared.stream.getvalue() == ""  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("geoip", "Corefile:2 - Error during parsing: Wrong argument count or unexpected line ending after 'geoip'"),
        ("geoip 1 2 3", "Corefile:2 - Error during parsing: Wrong argument count or unexpected line ending after '3'"),
        ("geoip a {\nlanguages en\n}", 'Corefile:3 - Error during parsing: unknown property "languages"'),
        ("geoip a {\nedns-subnet yes\n}", 'Corefile:3 - Error during parsing: unknown property "yes"'),
        ("geoip a\ngeoip b", "Corefile:3 - Error during parsing: configuring multiple databases is not supported"),
    ],
)
def test_wrong_directives(text: str, error: str) -> None:
    with pytest.raises(CorefileError) as raised:
        parse(make_directive(text))
    assert str(raised.value) == error


def refused(path: Path) -> str:
    with pytest.raises(CorefileError) as raised:
        setup(make_directive(f"geoip {path}"), make_site())
    return str(raised.value)


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    at = "Corefile:2 - Error during parsing: failed to open database file: "
    none, text = tmp_path / "none", tmp_path / "text"
    text.write_text("not a database")
    assert refused(none) == f"{at}open {none}: no such file or directory"
    assert refused(tmp_path) == f"{at}open {tmp_path}: is a directory"
    assert refused(text) == f"{at}{text}: expected a MaxMind DB file"
    other = write_database(tmp_path / "db", "GeoIP2-Connection-Type")
    assert refused(other) == f'{at}reader does not support the "GeoIP2-Connection-Type" database type'


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    assert refused(tmp_path).endswith("pip install 'waypost[geoip]'")


async def test_a_view_and_the_log_read_the_labels(tmp_path: Path) -> None:
    """The first block is for one country, whichever way its clients are told from others."""
    path = write_database(tmp_path / "db")
    served = Serving(
        f"""example.org {{
            view britain {{
                expr metadata('geoip/country/code') == 'GB'
            }}
            metadata
            geoip {path} {{
                edns-subnet
            }}
            log . "{{/geoip/city/name}} {{/geoip/asn/org}}"
            template IN A {{
                answer "{{{{ .Name }}}} 60 IN A 192.0.2.1"
            }}
        }}
        example.org {{
            template IN A {{
                answer "{{{{ .Name }}}} 60 IN A 192.0.2.2"
            }}
        }}""",
        lambda request: DROP,
    )
    far = ("203.0.113.5", 4000)
    option = dns.edns.ECSOption("192.0.2.0", 24)
    answers = [
        await served.ask("a.example.org."),
        await served.ask("a.example.org.", client=far),
        await served.ask("a.example.org.", client=far, options=(option,)),
    ]
    assert [str(message.answer[0][0]) for message in answers] == ["192.0.2.1", "192.0.2.2", "192.0.2.1"]
    await until(lambda: len(served.process.lines) == 2)
    assert set(served.process.lines) == {"[INFO] Cambridge -"}
