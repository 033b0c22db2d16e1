"""dnstap: tell of queries and replies in dnstap's binary form.

dnstap SOCKET [full] [WRITEBUF] [QUEUE] {
    identity TEXT
    version TEXT
    extra FORMAT
    skipverify
}

dnstap listen SOCKET [full] [WRITEBUF] [QUEUE] {
    ...
    tls CERT KEY [CA]
}
"""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Callable
from typing import Final

from waypost import __version__
from waypost.corefile.model import Directive
from waypost.dispatch.request import Request
from waypost.dispatch.site import Site
from waypost.dispatch.transports import TlsSettings
from waypost.listeners.certificates import server_context
from waypost.plugins.dnstap.config import Config, parse
from waypost.plugins.dnstap.handler import Dnstap, Form
from waypost.plugins.dnstap.listening import Listening
from waypost.plugins.dnstap.outlet import Drops
from waypost.plugins.dnstap.payload import Envelope
from waypost.plugins.dnstap.place import TLS
from waypost.plugins.dnstap.sink import Sink
from waypost.toolkit.replacer import COMBINED, COMMON, EMPTY, compile_format
from waypost.toolkit.upstream_tls import TlsFiles, client_context
from waypost.wire.reply import DROP

_MIB: Final = 1024 * 1024
_MESSAGES: Final = 10_000
_OF_REPLY: Final = re.compile(r"\{(rcode|rsize|>rflags|duration)\}")


def setup(directive: Directive, site: Site) -> None:
    """Add a handler for each line, and connect at start. Lines that say the same share a connection."""
    dropped = site.metrics.counter(
        "waypost_dnstap_dropped_messages_total",
        "Counter of dnstap messages that were dropped because the receiver is away or slow.",
        ("socket",),
    )
    for config in parse(directive):
        if config.ignored:
            site.log.warning(f"{config.place}: '{' '.join(config.ignored)}' has no effect: expected `full` or nothing")
        drops = Drops(dropped.labels(str(config.place)), site.log)
        outlet = _listening(config, site, drops) if config.listen else _sink(config, site, drops)
        site.hooks.start.append(outlet.start)
        site.add(Dnstap(outlet, _form(config)))


def _form(config: Config) -> Form:
    identity = socket.gethostname() if config.identity is None else config.identity
    version = f"Waypost-{__version__}" if config.version is None else config.version
    return Form(config.full, Envelope(identity.encode(), version.encode()), _extra(config.extra))


def _extra(text: str) -> Callable[[Request], bytes] | None:
    """Fills in `text`; what only a reply has is `-`, because a query's message has the text, too."""
    if not text:
        return None
    text = text.replace("{common}", COMMON).replace("{combined}", COMBINED)
    fill = compile_format(_OF_REPLY.sub(EMPTY, text))
    return lambda request: fill(request, DROP, 0.0).encode()


def _sink(config: Config, site: Site, drops: Drops) -> Sink:
    def make() -> Sink:
        tls = _client_tls(config.skip_verify) if config.place.scheme == TLS else None
        limit, buffer = config.queue * _MESSAGES, config.buffer * _MIB
        return Sink(config.place, tls, limit=limit, buffer=buffer, drops=drops, log=site.log)

    key = ("dnstap", config.place, config.skip_verify, config.queue, config.buffer)
    return site.services.lender.lend(key, make)


def _client_tls(skip_verify: bool) -> ssl.SSLContext:
    context = client_context(TlsFiles())
    if skip_verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _listening(config: Config, site: Site, drops: Drops) -> Listening:
    files = tuple(map(site.path, config.tls))

    def make_tls() -> ssl.SSLContext | None:
        if config.place.scheme != TLS:
            return None
        if not files:
            raise ValueError("TLS listener requires cert and key files")
        certificate, key, *ca = files
        if not ca:
            return server_context(TlsSettings(certificate, key))
        check = "verify_if_given" if config.skip_verify else "require_and_verify"
        return server_context(TlsSettings(certificate, key, ca[0], check))

    def make() -> Listening:
        limit, buffer = config.queue * _MESSAGES, config.buffer * _MIB
        return Listening(config.place, make_tls, limit=limit, buffer=buffer, drops=drops, log=site.log)

    key = ("dnstap listen", config.place, files, config.skip_verify, config.queue, config.buffer)
    return site.services.lender.lend(key, make)
