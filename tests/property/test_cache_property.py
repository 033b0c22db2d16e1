"""Whatever a source says, whenever: no answer too old or for somebody else, no error while there is an answer."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from support.caching import SOA, Rig, records, request_with
from waypost.dispatch.request import Request
from waypost.wire import consts
from waypost.wire.query import Query
from waypost.wire.record import Record, address
from waypost.wire.reply import Reply, failure

WINDOW = 50.0
MIN_TTL, CAP, SERVFAIL = 5, 40, 5
OWN = b"own"
(SOA_RECORD,) = records(SOA.format(ttl=0, minimum=1))
SERIAL_AT = len(SOA_RECORD.rdata) - 20

KINDS = ("positive", "nxdomain", "bare nxdomain", "dangling", "servfail", "refused", "truncated", "unwritten", "raises")
USABLE = KINDS[:4]
KEPT = KINDS[:2]
ERRORS = (consts.SERVFAIL, consts.REFUSED)
Flags = tuple[bool, bool, bool, bool]
Key = tuple[bytes, int, bool, int]


@dataclass
class Known:
    """One thing the source said: for which key, when, and the TTL that the cache gives it."""

    key: Key
    kind: str
    at: float
    ttl: int
    ad: bool
    own: bool


@dataclass
class World:
    """A cache, its source, and everything the source ever said; the serial of a saying is in its data."""

    rig: Rig
    kind: str = "positive"
    ttl: int = 20
    ad: bool = False
    own: bool = False
    said: list[Known] = field(default_factory=list)

    def answer(self, request: Request) -> Reply:
        query = request.query
        if self.kind == "raises":
            raise RuntimeError("fault")
        ttl = min(max(self.ttl, MIN_TTL), CAP)
        self.said.append(Known(key_of(query), self.kind, self.rig.clock.now, ttl, self.ad, self.own))
        serial = (len(self.said) - 1).to_bytes(4, "big")
        flags = query.flags & consts.COPIED | (consts.AD if self.ad else 0)
        depends = (OWN,) if self.own else ()
        if self.kind == "unwritten":
            return failure(consts.SERVFAIL, "no upstream")
        if self.kind in ("positive", "truncated"):
            cut = consts.TC if self.kind == "truncated" else 0
            answer = (address(query.qname, self.ttl, serial)._replace(rtype=query.qtype),)
            return Reply(consts.NOERROR, flags | cut, answer, depends=depends)
        if self.kind == "dangling":
            answer = (Record(query.qname, consts.TYPE_CNAME, consts.CLASS_IN, self.ttl, b"\x01x\x00"),)
            return Reply(consts.NOERROR, flags, answer, depends=depends)
        if self.kind == "nxdomain":
            rdata = SOA_RECORD.rdata[:SERIAL_AT] + serial + SOA_RECORD.rdata[SERIAL_AT + 4 :]
            return Reply(consts.NXDOMAIN, flags, (), (SOA_RECORD._replace(ttl=self.ttl, rdata=rdata),), depends=depends)
        rcodes = {"bare nxdomain": consts.NXDOMAIN, "servfail": consts.SERVFAIL, "refused": consts.REFUSED}
        return Reply(rcodes[self.kind], flags, depends=depends)


def key_of(query: Query) -> Key:
    return query.name, query.qtype, query.do, query.flags & consts.CD


def serial_of(reply: Reply) -> int | None:
    if reply.answer and reply.answer[0].rtype != consts.TYPE_CNAME:
        return int.from_bytes(reply.answer[0].rdata, "big")
    if reply.rcode == consts.NXDOMAIN and reply.authority:
        return int.from_bytes(reply.authority[0].rdata[SERIAL_AT : SERIAL_AT + 4], "big")
    return None


class Check:
    """Compares each reply with what the source has said."""

    def __init__(self, rig: Rig, *, stale: bool, shown: int, prefer_positive: bool, keep_ttl: bool) -> None:
        self.world = World(rig)
        rig.source.answer = self.world.answer
        self.window = WINDOW if stale else 0.0
        self.shown = shown
        self.prefer_positive = prefer_positive
        self.keep_ttl = keep_ttl
        self.changed_before = 0
        """Sayings below this number about own data are void."""

    def ask(self, name: str, qtype: str, flags: Flags) -> None:
        rd, cd, ad, do = flags
        request = request_with(name, qtype, rd=rd, cd=cd, ad=ad, do=do)
        before = len(self.world.said)
        try:
            reply = self.world.rig.cache.serve(request)
        except RuntimeError:
            reply = failure(consts.SERVFAIL)
        assert isinstance(reply, Reply)
        key = key_of(request.query)
        newest = self.newest(key, before)
        if not reply.written or reply.rcode in ERRORS:
            assert not self.servable(newest), "an error while there is an answer"
            self.check_error(key, before)
        if reply.written:
            assert bool(reply.flags & consts.RD) == rd
            assert bool(reply.flags & consts.CD) == cd
            assert ad or do or not reply.flags & consts.AD
        serial = serial_of(reply)
        if serial is not None:
            self.check_age(reply, serial, key, newest, wants_ad=ad or do)

    def check_age(self, reply: Reply, serial: int, key: Key, newest: int | None, *, wants_ad: bool) -> None:
        known = self.world.said[serial]
        age = self.world.rig.clock.now - known.at
        assert known.key == key, "an answer to another question"
        assert bool(reply.flags & consts.AD) == (known.ad and wants_ad)
        assert age < known.ttl + self.window, "too old"
        assert not (known.own and serial < self.changed_before), "own data changed since"
        if not self.prefer_positive:
            assert newest is None or serial >= newest, "the source has said otherwise since"
        shown = {record.ttl for section in (reply.answer, reply.authority) for record in section}
        fresh = known.ttl if self.keep_ttl else known.ttl - int(age)
        assert shown == {fresh if age < known.ttl else self.shown}

    def check_error(self, key: Key, before: int) -> None:
        """An error is a SERVFAIL kept for less than 5 seconds, or what the source says now."""
        kept = [known for known in self.world.said[:before] if known.key == key and known.kind == "servfail"][-1:]
        if not (kept and self.world.rig.clock.now - kept[0].at < SERVFAIL):
            assert self.world.kind in ("servfail", "refused", "unwritten", "raises"), "an error kept for too long"

    def newest(self, key: Key, before: int) -> int | None:
        """The number of the last usable saying about a key that a change has not made void."""
        for n in range(before - 1, -1, -1):
            known = self.world.said[n]
            if known.key == key and known.kind in USABLE:
                return None if known.own and n < self.changed_before else n
        return None

    def servable(self, number: int | None) -> bool:
        if number is None:
            return False
        known = self.world.said[number]
        return known.kind in KEPT and self.world.rig.clock.now - known.at < known.ttl + self.window

    def change(self) -> None:
        self.world.rig.cache.invalidate([OWN])
        self.changed_before = len(self.world.said)


# Most steps are about one name, one type and plain flags, so that sayings about one key follow each other.
SAY = st.tuples(
    st.just("say"), st.sampled_from(KINDS), st.sampled_from((0, 3, 12, 40, 500)), st.booleans(), st.booleans()
)
WAIT = st.tuples(st.just("wait"), st.sampled_from((0.0, 0.5, 1.0, 4.0, 7.3, 13.0, 20.0, 39.9, 60.0, 200.0)))
NAMES = st.sampled_from(("a.example.org.",) * 6 + ("A.example.org.", "b.example.org."))
TYPES = st.sampled_from(("A",) * 6 + ("AAAA",))
PLAIN = (True, False, False, False)
FLAGS = st.one_of(st.just(PLAIN), st.just(PLAIN), st.tuples(st.booleans(), st.booleans(), st.booleans(), st.booleans()))
ASK = st.tuples(st.just("ask"), NAMES, TYPES, FLAGS)
CHANGE = st.tuples(st.just("change"))
STEPS = st.lists(st.one_of(ASK, ASK, ASK, WAIT, WAIT, SAY, SAY, CHANGE), min_size=25, max_size=80)
STALE = ("", "immediate", "immediate 9s", "immediate 0s 8s", "verify", "verify 1s", "verify 1s 9s 8s")


@settings(max_examples=300, deadline=None)
@given(
    stale=st.sampled_from(STALE),
    prefer_positive=st.booleans(),
    keep_ttl=st.booleans(),
    prefetch=st.booleans(),
    steps=STEPS,
)
def test_the_promises_of_the_cache(
    stale: str, prefer_positive: bool, keep_ttl: bool, prefetch: bool, steps: list[tuple[object, ...]]
) -> None:
    lines = [
        f"serve_stale {WINDOW:.0f}s {stale}" if stale else "",
        "serve_stale_policy prefer_positive" if prefer_positive else "",
        "keepttl" if keep_ttl else "",
        "prefetch 1 1m 50%" if prefetch else "",
    ]
    rig = Rig(f"cache {CAP} {{\n" + "\n".join(line for line in lines if line) + "\n}")
    check = Check(
        rig,
        stale=bool(stale),
        shown=9 if "9s" in stale else 0,
        prefer_positive=prefer_positive,
        keep_ttl=keep_ttl,
    )
    for step in steps:
        match step:
            case ("say", str(kind), int(ttl), bool(ad), bool(own)):
                check.world.kind, check.world.ttl, check.world.ad, check.world.own = kind, ttl, ad, own
            case ("wait", float(seconds)):
                rig.clock.advance(seconds)
            case ("ask", str(name), str(qtype), flags):
                check.ask(name, qtype, flags)  # type: ignore[arg-type]
            case _:
                check.change()
