"""Send what a suite's step describes, DNS or HTTP, and give the outcome in normal form."""

from __future__ import annotations

import http.client
import socket
import struct
import time

import dns.edns
import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.opcode
import dns.rcode
import dns.rdatatype
import dns.rrset
import dns.tsigkeyring

from support.suite_runner.normal_form import Json, normal_form, question_text

REPLY_SECONDS = 2.0
_TRANSFERS = ("AXFR", "IXFR")


def ask(host: str, port: int, query: Json, timeout: float = REPLY_SECONDS) -> Json:
    """The reply in normal form, or `{"timeout": True}`, or `{"error": why}`."""
    message = None if "raw" in query else make_query(query)
    wire = bytes.fromhex(query["raw"]) if message is None else message.to_wire(max_size=65535)
    source = (query["src"], 0) if query.get("src") else None
    end = time.monotonic() + timeout
    try:
        if query.get("proto") != "tcp":
            return _finish(_ask_udp((host, port), source, wire, end), message)
        with socket.create_connection((host, port), timeout, source) as connection:
            connection.sendall(struct.pack("!H", len(wire)) + wire)
            if message is not None and query["type"] in _TRANSFERS:
                return _transfer(connection, message, query["type"], end)
            return _finish(_receive(connection, wire[:2], end), message)
    except TimeoutError:
        return {"timeout": True}
    except ConnectionRefusedError:
        return {"error": "refused"}
    except (EOFError, ConnectionResetError):
        return {"error": "closed"}
    except (OSError, dns.exception.DNSException) as error:
        return {"error": type(error).__name__}


def make_query(query: Json) -> dns.message.Message:
    """The message that a step's `query` describes."""
    name = dns.name.from_text(query["name"])
    message = dns.message.make_query(name, query["type"], rdclass=query.get("class", "IN"))
    options: list[dns.edns.Option] = [
        dns.edns.GenericOption(code, bytes.fromhex(data)) for code, data in query.get("opts", ())
    ]
    if options or query.get("do") or "bufsize" in query or "edns" in query:
        flags = dns.flags.DO if query.get("do") else 0
        payload = query.get("bufsize", 1232)
        message.use_edns(query.get("edns", 0), ednsflags=flags, payload=payload, options=options)
    if query.get("rd") is False:
        message.flags &= ~dns.flags.RD
    for field, flag in (("cd", dns.flags.CD), ("ad", dns.flags.AD)):
        if query.get(field):
            message.flags |= flag
    if "opcode" in query:
        message.set_opcode(dns.opcode.from_text(query["opcode"]))
    if query["type"] == "IXFR":
        soa = f". . {query.get('ixfr_serial', 1)} 0 0 0 0"
        message.authority.append(dns.rrset.from_text(name, 0, "IN", "SOA", soa))
    if tsig := query.get("tsig"):
        keyring = dns.tsigkeyring.from_text({tsig["name"]: tsig["secret"]})
        message.use_tsig(keyring, keyname=tsig["name"], algorithm=tsig.get("algorithm", "hmac-sha256"))
    return message


def asked_question(query: Json) -> str:
    """The question that should come back; empty for a raw message."""
    return "" if "raw" in query else question_text(make_query(query).question[0])


def fetch(port: int, path: str, method: str = "GET", timeout: float = REPLY_SECONDS) -> Json:
    """An HTTP exchange: `{"status": ..., "body": ...}` or `{"error": why}`."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request(method, path)
        response = connection.getresponse()
        return {"status": response.status, "body": response.read().decode("utf-8", "replace")}
    except ConnectionRefusedError:
        return {"error": "refused"}
    except (OSError, http.client.HTTPException) as error:
        return {"error": type(error).__name__}
    finally:
        connection.close()


def _ask_udp(address: tuple[str, int], source: tuple[str, int] | None, wire: bytes, end: float) -> bytes:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        if source is not None:
            udp.bind(source)
        udp.connect(address)
        udp.send(wire)
        while True:
            udp.settimeout(_left(end))
            reply = udp.recv(65535)
            if len(reply) >= 12 and reply[:2] == wire[:2] and reply[2] & 0x80:
                return reply


def _receive(connection: socket.socket, message_id: bytes, end: float) -> bytes:
    while True:
        reply = _read(connection, struct.unpack("!H", _read(connection, 2, end))[0], end)
        if reply[:2] == message_id:
            return reply


def _read(connection: socket.socket, size: int, end: float) -> bytes:
    data = b""
    while len(data) < size:
        connection.settimeout(_left(end))
        piece = connection.recv(size - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data


def _transfer(connection: socket.socket, query: dns.message.Message, kind: str, end: float) -> Json:
    """The first message of a zone transfer, with the records of all of them."""
    first: Json = {}
    records: list[str] = []
    soas = 0
    while True:
        wire = _receive(connection, struct.pack("!H", query.id), end)
        form = _finish(wire, query)
        first = first or form
        records += form["answer"]
        soas += sum(1 for rrset in _parse(wire).answer if rrset.rdtype == dns.rdatatype.SOA)
        is_current = kind == "IXFR" and len(records) == 1
        if form["rcode"] != "NOERROR" or soas != 1 or is_current:
            return {**first, "answer": sorted(records)}


def _finish(wire: bytes, query: dns.message.Message | None) -> Json:
    reply = _parse(wire)
    form = normal_form(reply)
    if query is not None and query.keyring is not None:
        form["tsig"] = _signature(reply, wire, query)
    return form


def _signature(reply: dns.message.Message, wire: bytes, query: dns.message.Message) -> Json | None:
    if not reply.had_tsig or reply.keyname is None:
        return None
    try:
        dns.message.from_wire(wire, keyring=query.keyring, request_mac=query.mac)
        verified = True
    except dns.exception.DNSException:
        verified = False
    error = dns.rcode.to_text(dns.rcode.Rcode.make(int(reply.tsig_error or 0)), True)
    return {"key": reply.keyname.to_text().lower(), "error": error, "verified": verified}


def _parse(wire: bytes) -> dns.message.Message:
    return dns.message.from_wire(wire, keyring=False, one_rr_per_rrset=True, ignore_trailing=False)


def _left(end: float) -> float:
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
