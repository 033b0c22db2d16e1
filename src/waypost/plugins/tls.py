"""tls: the certificate of the block's encrypted listeners, and whether clients have to show one.

tls CERT KEY [CA] {
    client_auth nocert|request|require|verify_if_given|require_and_verify
    keylog FILE
}
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from waypost.corefile.args import Cursor
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.dispatch.site import Site
from waypost.dispatch.transports import TlsSettings
from waypost.listeners.certificates import check_readable, server_context

_CLIENT_AUTH: Final = ("nocert", "request", "require", "verify_if_given", "require_and_verify")
_ACME: Final = ("acme", "email", "ca", "storage", "ca_root", "resolver")


def parse(directive: Directive) -> tuple[TlsSettings, ...]:
    """Every line's settings, file names as written. Raises CorefileError."""
    cursor = Cursor(directive)
    lines = []
    for args in cursor.occurrences():
        if not args:
            _refuse_acme(cursor)
        if not 2 <= len(args) <= 3:
            raise cursor.arg_err().with_prefix("plugin/tls: ")  # named twice here, as in CoreDNS
        settings = TlsSettings(*args)
        for name, values in cursor.options():
            settings = _with_option(cursor, settings, name, values)
        lines.append(settings)
    return tuple(lines)


def _refuse_acme(cursor: Cursor) -> None:
    position = cursor.position
    for name, _ in cursor.options():
        if name in _ACME:
            raise cursor.err("certificates by ACME are not supported: expected `tls CERT KEY`, files that are followed")
    cursor.position = position


def _with_option(cursor: Cursor, settings: TlsSettings, name: str, values: list[str]) -> TlsSettings:
    if name not in ("client_auth", "keylog"):
        raise cursor.err(f"unknown option '{name}'")
    if len(values) != 1:
        raise cursor.arg_err()
    if name == "keylog":
        return replace(settings, keylog=values[0])
    if values[0] not in _CLIENT_AUTH:
        raise cursor.err(f"unknown authentication type '{values[0]}'")
    if values[0] == "require" and not settings.ca:
        raise cursor.err("client_auth require needs a CA: a certificate that nobody has signed proves nothing")
    return replace(settings, client_auth=values[0])


def setup(directive: Directive, site: Site) -> None:
    """Set the block's certificate, the last one if there are several. Raises CorefileError if one cannot be used."""
    for written in parse(directive):
        settings = replace(
            written,
            certificate=site.path(written.certificate),
            key=site.path(written.key),
            ca=written.ca and site.path(written.ca),
            keylog=written.keylog and site.path(written.keylog),
        )
        _check(settings)
        if settings.keylog:
            site.log.warning(f'Writing TLS Key Log to "{settings.keylog}"')
        site.tls = settings


def _check(settings: TlsSettings) -> None:
    check_readable(settings)
    try:
        server_context(settings)
    except ValueError as exc:  # a file that is no text, for one
        raise CorefileError.unlocated(f"could not load TLS cert: {settings.certificate}: {exc}") from exc
