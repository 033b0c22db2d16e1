"""Steps of recorded suites where Waypost's answer is another one on purpose.

Each entry names a suite, the index of a step, and why. A test fails when an entry no longer differs.
"""

from __future__ import annotations

from typing import NamedTuple


class Known(NamedTuple):
    """A step that differs."""

    suite: str
    step: int
    why: str


DIFFERENCES = (
    Known("plugins/chaos-default", 0, "CoreDNS's long list of authors does not fit into 512 bytes; ours does."),
    Known("plugins/cache-not-cached", 16, "A reply's question has the letter case of the query."),
    Known("plugins/forward-basic", 33, "A reply's question has the letter case of the query."),
    *(
        Known("plugins/file-cname", step, "A loop of CNAMEs is answered with each record once.")
        for step in (15, 16, 17)
    ),
    *(
        Known(
            "plugins/file-fallthrough",
            step,
            "`fallthrough` is said per `file` line and holds for that line's zones only.",
        )
        for step in (1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15, 17, 18, 19, 21, 22, 23)
    ),
    Known("plugins/rewrite-type-class", 5, "A reply has the question that the client asked, its class too."),
    Known("plugins/rewrite-type-class", 6, "A reply has the question that the client asked, its class too."),
    Known("plugins/tsig", 15, "Names of keys are domain names, and letter case does not count in them."),
)
