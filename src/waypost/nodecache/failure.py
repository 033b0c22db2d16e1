"""What cannot be set up, and as what it is counted."""

from __future__ import annotations

from typing import Final

ERROR_TYPES: Final = ("iptables", "iptables_lock", "nftables", "interface_add", "interface_check", "configmap")
"""Values of the label `errortype`; `nftables` is not one of NodeLocal DNSCache's."""


class SetupError(Exception):
    """Something on the node that could not be made, changed or removed. `kind` is one of ERROR_TYPES."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind
