"""Opening sockets: SO_REUSEPORT, so that a successor can start beside us, and error texts in Go's form."""

from __future__ import annotations

import errno
import os
import resource
import socket
import struct
from array import array
from contextlib import suppress

from waypost.corefile.addresses import join_host_port

# Bursts wait here while the loop is busy; the kernel caps it at net.core.rmem_max.
_RECEIVE_BUFFER = 4 * 1024 * 1024
BACKLOG = 1024
# Linux: nine numbers about a socket's memory; the last counts datagrams that its receive buffer had no room for.
_SO_MEMINFO = 55
_MEMINFO = struct.Struct("=32xI")
_MAX_CONNECTIONS = 20_000
_SO_ATTACH_REUSEPORT_CBPF = 51
_SO_DETACH_REUSEPORT_BPF = 68
# Of classic BPF: a program that returns a constant, and its length with its place.
_RETURN = struct.Struct("=HBBI")
_PROGRAM = struct.Struct("@HP")
_BPF_RET = 0x06
WILDCARDS = ("", "0.0.0.0", "::")
_REASONS = {
    errno.EADDRINUSE: "address already in use",
    errno.EADDRNOTAVAIL: "cannot assign requested address",
    errno.EACCES: "permission denied",
}


class ListenError(Exception):
    """A listen address that cannot be had; the text is Go's, such as `listen udp :53: bind: permission denied`."""


def families(host: str) -> list[tuple[socket.AddressFamily, str]]:
    """The sockets that a listen host needs: a wildcard one (or empty) both families, where the kernel has IPv6."""
    if host in WILDCARDS:
        unbound = [(socket.AF_INET, "0.0.0.0")]
        return [*unbound, (socket.AF_INET6, "::")] if _has_ipv6() else unbound
    return [(socket.AF_INET6 if ":" in host else socket.AF_INET, host)]


def open_socket(family: socket.AddressFamily, kind: socket.SocketKind, host: str, port: str) -> socket.socket:
    """A bound, non-blocking socket; stream sockets listen. Raises ListenError."""
    stream = kind == socket.SOCK_STREAM
    sock = socket.socket(family, kind)
    try:
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1 if stream else 0)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        if not stream:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)
        address, _, scope = host.partition("%")
        if family == socket.AF_INET6:
            sock.bind((address, int(port), 0, socket.if_nametoindex(scope) if scope else 0))
        else:
            sock.bind((address, int(port)))
        if stream:
            sock.listen(BACKLOG)
        with suppress(OSError):  # what a predecessor said when it ended holds no longer
            sock.setsockopt(socket.SOL_SOCKET, _SO_DETACH_REUSEPORT_BPF, 0)
    except (OSError, OverflowError) as exc:
        sock.close()
        raise ListenError(_listen_text(stream, host, port, exc)) from exc
    return sock


def hand_over(sock: socket.socket) -> None:
    """Let new packets and connections go to the successor that listens on the same address, if there is one.

    The kernel deals them out to the sockets of an address as a program says, by their number: a first socket is 0, its
    successor 1. A number that no socket has leaves the matter to the kernel.
    """
    code = array("B", _RETURN.pack(_BPF_RET, 0, 0, 1))
    with suppress(OSError):
        program = _PROGRAM.pack(1, code.buffer_info()[0])
        sock.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_REUSEPORT_CBPF, program)


def receive_drops(sock: socket.socket) -> int:
    """How many datagrams the kernel threw away before we read them, modulo 2**32; 0 if it does not tell."""
    try:
        return int(_MEMINFO.unpack(sock.getsockopt(socket.SOL_SOCKET, _SO_MEMINFO, _MEMINFO.size))[0])
    except (OSError, struct.error):
        return 0


def connection_limit() -> int:
    """Connections that one listener may hold: with both families, half of the descriptors are left for the rest."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MAX_CONNECTIONS if descriptors == resource.RLIM_INFINITY else min(_MAX_CONNECTIONS, descriptors // 4)


def raise_descriptor_limit() -> None:
    """Take as many file descriptors as the system allows, as Go's runtime does: every connection is one."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _listen_text(stream: bool, host: str, port: str, exc: Exception) -> str:
    if isinstance(exc, OverflowError):
        return f"address {port}: invalid port"
    shown = "" if host in ("0.0.0.0", "::") else host
    code = exc.errno if isinstance(exc, OSError) else None
    reason = _REASONS.get(code or 0) or (os.strerror(code).lower() if code else str(exc))
    return f"listen {'tcp' if stream else 'udp'} {join_host_port(shown, port)}: bind: {reason}"


def _has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as probe:
            probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            probe.bind(("::", 0))
    except OSError:
        return False
    return True
