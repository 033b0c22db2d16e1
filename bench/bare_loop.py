"""The yardstick: a Python loop that receives a datagram, flips QR and sends it back. Usage: bare_loop.py PORT."""

from __future__ import annotations

import socket
import sys


def main() -> None:
    """Echo until killed."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * 1024 * 1024)
    sock.bind(("127.0.0.1", int(sys.argv[1])))
    receive, send = sock.recvfrom, sock.sendto
    while True:
        wire, client = receive(4096)
        send(wire[:2] + b"\x80" + wire[3:], client)


if __name__ == "__main__":
    main()
