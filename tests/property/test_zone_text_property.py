"""Whatever stands in a zone file, it is a zone, or the one exception for a file that is none."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from support.zones import HEAD
from waypost.toolkit.zonefile import ZoneFileError, load_zone
from waypost.wire import names

WORDS = st.sampled_from(
    ["$TTL", "$ORIGIN", "$INCLUDE", "$GENERATE",
     "1-3", "h$", "${0,3,x}", "@", "www", "*", "IN", "CH", "60", "A", "AAAA",
     "MX", "SRV", "TXT", "SOA", "HTTPS", "LOC", "NAPTR", "NSEC", "RRSIG", "TYPE70000", "\\#", "4", "192.0.2.1", "::1",
     "a.b.", "..", "(", ")", ";", '"', '"x y"', "\\000", "\\", " ", "\n", "\n ", "99999999999", "alpn=h2", "-1", "é"]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.lists(WORDS, max_size=20).map(" ".join), st.text(max_size=60)))
def test_any_text(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "db"
        path.write_bytes((HEAD + text).encode("utf-8", "surrogatepass"))
        with suppress(ZoneFileError):
            zone = load_zone(str(path), names.from_text("example.org."))
            assert zone is not None
            assert all(record.owner.lower() in zone.nodes for record in zone.records())
