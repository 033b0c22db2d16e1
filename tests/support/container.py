"""Run a program as a container runtime starts one: another user, one capability allowed, no new privileges.

    python -m support.container PROGRAM ARGUMENT...

NET_BIND_SERVICE is permitted when the program is executed, and is gone by that unless its file has it, too.
"""

from __future__ import annotations

import ctypes
import os
import sys

USER = 65532
_NET_BIND_SERVICE = 10
_CAPABILITIES = 64
_VERSION_3 = 0x20080522
_PR_SET_KEEPCAPS, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 8, 24, 38


def become_container(libc: ctypes.CDLL) -> None:
    """Drop everything but the capability."""
    for capability in range(_CAPABILITIES):
        if capability != _NET_BIND_SERVICE:
            libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)  # fails for those that the kernel does not have
    _check(libc.prctl(_PR_SET_KEEPCAPS, 1, 0, 0, 0))
    os.setgroups([])
    os.setgid(USER)
    os.setuid(USER)
    header = (ctypes.c_uint32 * 2)(_VERSION_3, 0)
    allowed = 1 << _NET_BIND_SERVICE
    data = (ctypes.c_uint32 * 6)(allowed, allowed, 0, 0, 0, 0)
    _check(libc.capset(header, data))
    _check(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))


def _check(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


if __name__ == "__main__":
    become_container(ctypes.CDLL(None, use_errno=True))
    os.execv(sys.argv[1], sys.argv[1:])
