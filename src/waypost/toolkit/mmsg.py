"""Many datagrams a system call: recvmmsg(2) and sendmmsg(2), called through ctypes, since Python has neither."""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import sys
from array import array
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple, Protocol

BATCH = 64
"""The most datagrams that are received, or sent, at once."""
SLOT = 4096
"""The longest datagram in bytes: what is longer is cut when it is received, and must be sent some other way."""
NAME_SPACE = 32
"""Bytes for a socket address."""
CONTROL_SPACE = 64
"""Bytes for the control messages of a datagram."""

_NOTHING = (errno.EAGAIN, errno.EINTR)


class Calls(NamedTuple):
    """recvmmsg and sendmmsg."""

    receive: Callable[..., int]
    send: Callable[..., int]


def system_calls() -> Calls | None:
    """The two calls, where they are and may be used, and `Headers` has their structures."""
    if sys.platform != "linux" or ctypes.sizeof(ctypes.c_void_p) != 8 or sys.byteorder != "little":
        return None
    library = ctypes.CDLL(None, use_errno=True)
    try:
        receive, send = library.recvmmsg, library.sendmmsg
    except AttributeError:
        return None
    receive.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_uint, ctypes.c_int, ctypes.c_void_p)
    send.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_uint, ctypes.c_int)
    for call in (partial(receive, -1, None, 0, 0, None), partial(send, -1, None, 0, 0)):
        call()
        if ctypes.get_errno() != errno.EBADF:  # not in this kernel, or forbidden here
            return None
    return Calls(receive, send)


class _Vector(ctypes.Structure):
    """`struct iovec`."""

    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


class _Message(ctypes.Structure):
    """`struct msghdr` as 64-bit Linux has it."""

    _fields_ = (
        ("name", ctypes.c_void_p),
        ("name_length", ctypes.c_uint32),
        ("vectors", ctypes.c_void_p),
        ("vector_count", ctypes.c_size_t),
        ("control", ctypes.c_void_p),
        ("control_length", ctypes.c_size_t),
        ("flags", ctypes.c_int),
    )


class _Header(ctypes.Structure):
    """`struct mmsghdr`: with the length of what was received."""

    _fields_ = (("message", _Message), ("length", ctypes.c_uint32))


# Sizes and places of fields when an array of headers or vectors is seen as 64-bit (or, the length, as 32-bit) numbers.
HEADER = ctypes.sizeof(_Header) // 8
CONTROL_LENGTH = _Message.control_length.offset // 8
_LENGTH = _Header.length.offset // 4
_VECTOR = ctypes.sizeof(_Vector) // 8
_VECTOR_LENGTH = _Vector.length.offset // 8


class Batch:
    """`BATCH` datagrams that are received, or are to be sent: headers with a buffer each, made once.

    The fields of the headers are reached as numbers in memory views, at a fraction of what ctypes' own access costs.
    `names` and `controls` are the addresses of arrays of socket addresses and of control messages, 0 for none. What was
    received may be answered from the same batch: its places still have the addresses.
    """

    __slots__ = ("_calls", "_control_lengths", "_data", "_full", "_lengths", "_pointer", "_sizes", "fields")

    def __init__(self, calls: Calls, name_size: int = 0, names: int = 0, controls: int = 0) -> None:
        buffer = ctypes.create_string_buffer(BATCH * SLOT)
        vectors = (_Vector * BATCH)()
        headers = (_Header * BATCH)()
        for n in range(BATCH):
            vectors[n].base = ctypes.addressof(buffer) + n * SLOT
            vectors[n].length = SLOT
            headers[n].message.vectors = ctypes.addressof(vectors) + n * ctypes.sizeof(_Vector)
            headers[n].message.vector_count = 1
            if names:
                headers[n].message.name = names + n * NAME_SPACE
                headers[n].message.name_length = name_size
            if controls:
                headers[n].message.control = controls + n * CONTROL_SPACE
                headers[n].message.control_length = CONTROL_SPACE
        self._calls = calls
        self._data = memoryview(buffer).cast("B")
        self._sizes = memoryview(vectors).cast("B").cast("Q")[_VECTOR_LENGTH::_VECTOR]
        self._lengths = memoryview(headers).cast("B").cast("I")[_LENGTH :: 2 * HEADER]
        self._pointer = ctypes.addressof(headers)
        self._full = array("Q", [SLOT] * BATCH)
        self.fields = memoryview(headers).cast("B").cast("Q")
        self._control_lengths = array("Q", [CONTROL_SPACE] * BATCH) if controls else None

    def receive(self, fd: int) -> list[bytes]:
        """What a socket has, without waiting. Raises OSError."""
        self._sizes[:] = self._full
        if self._control_lengths is not None:
            self.fields[CONTROL_LENGTH::HEADER] = self._control_lengths
        count = self._calls.receive(fd, self._pointer, BATCH, socket.MSG_DONTWAIT, None)
        if count < 0:
            code = ctypes.get_errno()
            if code in _NOTHING:
                return []
            raise OSError(code, os.strerror(code))
        data = self._data
        starts = range(0, count * SLOT, SLOT)
        return [data[at : at + size].tobytes() for at, size in zip(starts, self._lengths, strict=False)]

    def put(self, packets: Iterable[bytes | None]) -> list[int]:
        """Set what is to be sent from the first places on; gives those left out: None, or longer than `SLOT`."""
        data, sizes = self._data, self._sizes
        left_out = []
        for place, packet in enumerate(packets):
            if packet is None or (size := len(packet)) > SLOT:
                left_out.append(place)
            else:
                at = place * SLOT
                data[at : at + size] = packet
                sizes[place] = size
        return left_out

    def send(self, fd: int, first: int, end: int) -> int:
        """Send the datagrams of some places, without waiting; gives how many left. Raises OSError if none can."""
        done = self._calls.send(fd, self._pointer + first * HEADER * 8, end - first, socket.MSG_DONTWAIT)
        if done < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        return done


class Packets(Protocol):
    """Receives and sends over connected sockets; one object serves any number of sockets."""

    def receive(self, sock: socket.socket) -> list[bytes]:
        """What has arrived, up to `BATCH` datagrams of at most `SLOT` bytes. Raises OSError."""
        ...

    def send(self, sock: socket.socket, packets: Sequence[bytes]) -> int:
        """Send up to `BATCH` datagrams; gives how many left. Raises OSError if the first of them cannot."""
        ...


def packets_of() -> Packets:
    """The best way that this system has."""
    calls = system_calls()
    return ManyPackets(calls) if calls is not None else SinglePackets()


class ManyPackets:
    """Receives and sends over connected sockets, many datagrams at a time; one object serves any number of sockets."""

    __slots__ = ("_inbox", "_outbox")

    def __init__(self, calls: Calls) -> None:
        self._inbox = Batch(calls)
        self._outbox = Batch(calls)

    def receive(self, sock: socket.socket) -> list[bytes]:
        """What has arrived, up to `BATCH` datagrams. Raises OSError."""
        return self._inbox.receive(sock.fileno())

    def send(self, sock: socket.socket, packets: Sequence[bytes]) -> int:
        """Send up to `BATCH` datagrams; gives how many left. Raises OSError if the first of them cannot."""
        self._outbox.put(packets)
        return self._outbox.send(sock.fileno(), 0, len(packets))


class SinglePackets:
    """The same, one system call each, for systems that have nothing better."""

    __slots__ = ()

    def receive(self, sock: socket.socket) -> list[bytes]:
        """What has arrived. Raises OSError."""
        packets: list[bytes] = []
        while len(packets) < BATCH:
            try:
                packets.append(sock.recv(SLOT))
            except (BlockingIOError, InterruptedError):
                break
            except OSError:
                if not packets:
                    raise
                break
        return packets

    def send(self, sock: socket.socket, packets: Sequence[bytes]) -> int:
        """Send the first. Raises OSError."""
        sock.send(packets[0])
        return 1
