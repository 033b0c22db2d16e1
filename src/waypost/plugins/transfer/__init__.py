"""transfer: hand out whole zones of other plugins (AXFR, IXFR), and tell secondaries when they changed (NOTIFY).

transfer [ZONES...] {
    to ADDRESS...           source ADDRESS
}
"""

from waypost.plugins.transfer.setup import setup

__all__ = ["setup"]
