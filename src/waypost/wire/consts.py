"""Numbers of DNS and their mnemonics: header bits, opcodes, rcodes, types, classes (IANA DNS parameters)."""

from __future__ import annotations

# Header bits (RFC 1035 section 4.1.1, RFC 4035 for AD and CD).
QR = 0x8000
OPCODE_MASK = 0x7800
AA = 0x0400
TC = 0x0200
RD = 0x0100
RA = 0x0080
Z = 0x0040
AD = 0x0020
CD = 0x0010
RCODE_MASK = 0x000F
# The bits that a reply takes over from its query.
COPIED = RD | CD

OPCODE_QUERY = 0
OPCODE_NOTIFY = 4

NOERROR = 0
FORMERR = 1
SERVFAIL = 2
NXDOMAIN = 3
NOTIMP = 4
REFUSED = 5
NOTAUTH = 9
BADVERS = 16

TYPE_A = 1
TYPE_NS = 2
TYPE_CNAME = 5
TYPE_SOA = 6
TYPE_PTR = 12
TYPE_HINFO = 13
TYPE_MX = 15
TYPE_TXT = 16
TYPE_AAAA = 28
TYPE_SRV = 33
TYPE_DNAME = 39
TYPE_OPT = 41
TYPE_DS = 43
TYPE_RRSIG = 46
TYPE_NSEC = 47
TYPE_DNSKEY = 48
TYPE_NSEC3 = 50
TYPE_SVCB = 64
TYPE_HTTPS = 65
TYPE_TSIG = 250
TYPE_IXFR = 251
TYPE_AXFR = 252
TYPE_ANY = 255

CLASS_IN = 1
CLASS_CH = 3
CLASS_NONE = 254
CLASS_ANY = 255

EDNS_NSID = 3
EDNS_EXPIRE = 9
EDNS_COOKIE = 10
EDNS_TCP_KEEPALIVE = 11
EDNS_PADDING = 12
EDNS_EDE = 15

_RCODES = {
    0: "NOERROR",
    1: "FORMERR",
    2: "SERVFAIL",
    3: "NXDOMAIN",
    4: "NOTIMP",
    5: "REFUSED",
    6: "YXDOMAIN",
    7: "YXRRSET",
    8: "NXRRSET",
    9: "NOTAUTH",
    10: "NOTZONE",
    16: "BADVERS",
    17: "BADKEY",
    18: "BADTIME",
    19: "BADMODE",
    20: "BADNAME",
    21: "BADALG",
    22: "BADTRUNC",
    23: "BADCOOKIE",
}
_TYPES = {
    1: "A", 2: "NS", 3: "MD", 4: "MF", 5: "CNAME", 6: "SOA", 7: "MB", 8: "MG", 9: "MR", 10: "NULL",
    12: "PTR", 13: "HINFO", 14: "MINFO", 15: "MX", 16: "TXT", 17: "RP", 18: "AFSDB", 19: "X25",
    20: "ISDN", 21: "RT", 23: "NSAP-PTR", 24: "SIG", 25: "KEY", 26: "PX", 27: "GPOS", 28: "AAAA",
    29: "LOC", 30: "NXT", 31: "EID", 32: "NIMLOC", 33: "SRV", 34: "ATMA", 35: "NAPTR", 36: "KX",
    37: "CERT", 39: "DNAME", 41: "OPT", 42: "APL", 43: "DS", 44: "SSHFP", 45: "IPSECKEY", 46: "RRSIG",
    47: "NSEC", 48: "DNSKEY", 49: "DHCID", 50: "NSEC3", 51: "NSEC3PARAM", 52: "TLSA", 53: "SMIMEA",
    55: "HIP", 56: "NINFO", 57: "RKEY", 58: "TALINK", 59: "CDS", 60: "CDNSKEY", 61: "OPENPGPKEY",
    62: "CSYNC", 63: "ZONEMD", 64: "SVCB", 65: "HTTPS", 99: "SPF", 100: "UINFO", 101: "UID", 102: "GID",
    103: "UNSPEC", 104: "NID", 105: "L32", 106: "L64", 107: "LP", 108: "EUI48", 109: "EUI64",
    249: "TKEY", 250: "TSIG", 251: "IXFR", 252: "AXFR", 253: "MAILB", 254: "MAILA", 255: "ANY",
    256: "URI", 257: "CAA", 258: "AVC", 260: "AMTRELAY", 32768: "TA", 32769: "DLV",
}  # fmt: skip
_CLASSES = {1: "IN", 2: "CS", 3: "CH", 4: "HS", 254: "NONE"}
_TYPE_NUMBERS = {text: number for number, text in _TYPES.items()}
_CLASS_NUMBERS = {text: number for number, text in _CLASSES.items()} | {"ANY": CLASS_ANY}
_RCODE_NUMBERS = {text: number for number, text in _RCODES.items()}
_FLAG_TEXTS = ((QR, "qr"), (AA, "aa"), (TC, "tc"), (RD, "rd"), (RA, "ra"), (Z, "z"), (AD, "ad"), (CD, "cd"))


def rcode_text(rcode: int) -> str:
    """The mnemonic of an rcode, `RCODE77` for an unassigned one."""
    return _RCODES.get(rcode) or f"RCODE{rcode}"


def rcode_number(text: str) -> int | None:
    """The rcode of an upper-case mnemonic, None for an unknown one."""
    return _RCODE_NUMBERS.get(text)


def type_text(rtype: int) -> str:
    """The mnemonic of an RR type, `TYPE123` for an unknown one (RFC 3597)."""
    return _TYPES.get(rtype) or f"TYPE{rtype}"


def type_number(text: str) -> int | None:
    """The RR type of an upper-case mnemonic or `TYPE123`, None for anything else."""
    return _number(text, _TYPE_NUMBERS, "TYPE")


def class_text(rclass: int) -> str:
    """The mnemonic of a class, `CLASS123` for an unknown one (RFC 3597); ANY prints as CLASS255."""
    return _CLASSES.get(rclass) or f"CLASS{rclass}"


def class_number(text: str) -> int | None:
    """The class of an upper-case mnemonic or `CLASS123`, None for anything else."""
    return _number(text, _CLASS_NUMBERS, "CLASS")


def flag_texts(flags: int) -> str:
    """The set header bits in lower case, comma separated: `qr,aa,rd`."""
    return ",".join(text for bit, text in _FLAG_TEXTS if flags & bit)


def _number(text: str, known: dict[str, int], prefix: str) -> int | None:
    number = known.get(text)
    if number is None and text.startswith(prefix):
        digits = text[len(prefix) :]
        if digits.isascii() and digits.isdigit() and int(digits) <= 0xFFFF:
            return int(digits)
    return number
