"""What to do about an error, where its text alone does not say."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import Final

from waypost.corefile.format import unclosed_brace

_UNKNOWN: Final = re.compile(r"Unknown directive '(.*)'", re.DOTALL)
_BRACE_MISSING: Final = re.compile(r"Unexpected EOF|Unexpected token '.*', expecting '}'", re.DOTALL)
_LONGEST_NAME: Final = 40

# By what the error says; `plugin/` narrows it to one directive.
_KNOWN: Final = (
    (r"plugin/kubernetes: .*'(upstream|resyncperiod)'", "It is gone since CoreDNS 1.7, and did nothing: delete it."),
    (r"plugin/kubernetes: .*'transfer'", "It is gone since CoreDNS 1.8: use the directive `transfer`."),
    (r"plugin/kubernetes: .*'federation'", "It is gone since CoreDNS 1.7, with federation itself: delete the line."),
    (r"Unknown directive 'proxy'", "It is gone since CoreDNS 1.5: use `forward`."),
    (r"Unknown directive 'federation'", "It is gone since CoreDNS 1.7, with federation itself: delete it."),
    (r"no matching opening brace", "Put every directive, and every closing brace, on a line of its own."),
    (r"missing unit in duration", "Write the unit: `5s`."),
    (r"is already defined", "Join the blocks, or give them different zones, ports or views."),
    (r"zone overlap listener capacity", "Give both blocks a `bind`, or none of them."),
    (r"kubernetes plugin not loaded", "Add `kubernetes` to the same block."),
)  # fmt: skip


def hint(error: str, known: Sequence[str], text: str) -> str:
    """A sentence, or nothing. `known` are the directives there are, `text` is the Corefile's."""
    for pattern, remedy in _KNOWN:
        if re.search(pattern, error, re.DOTALL):
            return remedy
    if _BRACE_MISSING.search(error) and (line := unclosed_brace(text)):
        return f"The brace that opens in line {line} is never closed."
    unknown = _UNKNOWN.search(error)
    if unknown is None or len(unknown[1]) > _LONGEST_NAME:
        return ""
    close = difflib.get_close_matches(unknown[1].lower(), known, n=1)
    return f"Did you mean `{close[0]}`?" if close else ""
