"""c-ares 1.34's getaddrinfo (Envoy, gRPC, Node's dns.resolve): one long-lived socket for each server."""

from __future__ import annotations

from waypost.podside.replies import Reply
from waypost.podside.resolvers import local
from waypost.podside.resolvers.conf import Conf, read_cares
from waypost.podside.resolvers.lookup import Lookup, Outcome
from waypost.podside.resolvers.transcript import Send, Steps, Transcript, addresses_of, query_name


def resolve(lookup: Lookup, transcript: Transcript) -> Outcome:
    """Do what ares_getaddrinfo does."""
    address = local.strict_literal(lookup.name)
    if address is not None:
        return local.from_literal(address, lookup.types)
    folded = lookup.name.lower().removesuffix(".")
    if folded == "localhost" or folded.endswith(".localhost"):
        return local.from_hosts(lookup.types)
    if folded.endswith(".onion"):
        return Outcome("nxdomain")
    return _Search(lookup, read_cares(lookup.resolv_conf, lookup.hostname), transcript).run()


class _Search:
    """The search list, and the sockets, which all names share."""

    def __init__(self, lookup: Lookup, conf: Conf, transcript: Transcript) -> None:
        self._lookup = lookup
        self._conf = conf
        self._transcript = transcript
        self._sockets: dict[str, int] = {}
        self._answered: set[tuple[str, str]] = set()

    def run(self) -> Outcome:
        """NXDOMAIN and NODATA lead to the next name, anything else ends the search unless the name has one label."""
        nodata = False
        for text in self._candidates():
            name = query_name(text)
            if name is None:
                return Outcome("nxdomain")
            steps = [self._try(name, qtype) for qtype in self._lookup.types]
            replies = list(zip(self._lookup.types, self._transcript.together(steps), strict=True))
            addresses = addresses_of(replies)
            if addresses:
                return Outcome("addresses", addresses, name)
            rcodes = {reply.rcode for _, reply in replies}
            nodata = nodata or "NOERROR" in rcodes
            if not rcodes <= {"NOERROR", "NXDOMAIN"} and name.count(".") > 1:
                return Outcome("")
        return Outcome("nodata" if nodata else "nxdomain")

    def _candidates(self) -> list[str]:
        text = self._lookup.name
        if text.endswith("."):
            return [text]
        suffixed = [f"{text}.{domain}" if domain != "." else text for domain in self._conf.searches]
        return [text, *suffixed] if text.count(".") >= self._conf.ndots else [*suffixed, text]

    def _try(self, name: str, qtype: str) -> Steps[Reply]:
        """Try after try, each with the next server. Once the other type has addresses one try is enough."""
        reply = Reply()
        servers = self._conf.servers
        transport = "tcp" if "use-vc" in self._conf.flags else "udp"
        for number in range(self._conf.attempts * len(servers)):
            if number and any(known == name for known, _ in self._answered):
                break
            server = servers[number % len(servers)]
            reply = yield self._query(name, qtype, server, transport)
            if reply.tc:
                reply = yield self._query(name, qtype, server, "tcp")
            if reply.rcode == "FORMERR":
                reply = yield self._query(name, qtype, server, transport)._replace(edns=False)
            if reply.rcode in ("NOERROR", "NXDOMAIN"):
                if reply.answers:
                    self._answered.add((name, qtype))
                break
        return reply

    def _query(self, name: str, qtype: str, server: str, transport: str) -> Send:
        key = f"{transport}/{server}"
        if key not in self._sockets:
            self._sockets[key] = self._transcript.open()
        return Send(name, qtype, server, transport, socket=self._sockets[key])
