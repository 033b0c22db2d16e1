"""An upstream resolver that knows every name: one A record, TTL an hour. Usage: upstream.py PORT."""

from __future__ import annotations

import socket
import sys

HEADER = 12
# A pointer to the question's name, type A, class IN, TTL 3600, 192.0.2.1.
RECORD = b"\xc0\x0c\x00\x01\x00\x01" + (3600).to_bytes(4, "big") + b"\x00\x04\xc0\x00\x02\x01"
# Behind the question: one answer, and neither authority nor additional records.
COUNTS = b"\x00\x01\x00\x01\x00\x00\x00\x00"
QR_RA = b"\x81\x80"


def main() -> None:
    """Answer until killed."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * 1024 * 1024)
    sock.bind(("127.0.0.1", int(sys.argv[1])))
    receive, send = sock.recvfrom, sock.sendto
    while True:
        wire, client = receive(4096)
        end = wire.find(b"\0", HEADER) + 5  # no label has a zero byte in it here
        send(wire[:2] + QR_RA + COUNTS + wire[HEADER:end] + RECORD, client)


if __name__ == "__main__":
    main()
