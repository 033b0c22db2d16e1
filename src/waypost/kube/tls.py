"""The TLS side of cluster access: a client SSLContext from files or bytes, made again when a file changes."""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeAlias

from waypost.kube.config import ClusterAccess
from waypost.kube.errors import ClusterError


class ClientCertificate(NamedTuple):
    """A PEM certificate chain and its key."""

    certificate: bytes
    key: bytes


FileMark: TypeAlias = tuple[int, int, int] | None


def file_mark(path: str | None) -> FileMark:
    """What changes when a file is replaced: (mtime in ns, inode, size); None for no file."""
    try:
        stat = os.stat(path) if path else None
    except OSError:
        return None
    return (stat.st_mtime_ns, stat.st_ino, stat.st_size) if stat else None


class TlsContexts:
    """Gives the current SSLContext; the same object as long as files and certificate are the same."""

    def __init__(self, access: ClusterAccess) -> None:
        self._access = access
        self._made_from: object = None
        self._context: ssl.SSLContext | None = None

    def current(self, certificate: ClientCertificate | None = None) -> ssl.SSLContext:
        """The context to use now; `certificate` replaces the configured one. ClusterError on unusable PEM."""
        access = self._access
        files = (access.ca_file, access.cert_file, access.key_file)
        mark = (certificate, *(file_mark(path) for path in files))
        if self._context is None or mark != self._made_from:
            try:
                self._context, self._made_from = client_context(access, certificate), mark
            except ClusterError:
                # A rotation caught half-way: the old certificate serves until the pair fits again.
                if self._context is None:
                    raise
        return self._context


def client_context(access: ClusterAccess, certificate: ClientCertificate | None = None) -> ssl.SSLContext:
    """A new context from `access`; verifies the server by its CA, or by the system's roots without one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # Cluster CAs often lack the extensions that Python 3.13 demands by default; Go, and so kubectl, does not.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if access.insecure_skip_tls_verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    else:
        _load_roots(context, access)
    _load_certificate(context, access, certificate)
    return context


def _load_roots(context: ssl.SSLContext, access: ClusterAccess) -> None:
    try:
        if access.ca_data:
            with private_file(access.ca_data) as path:
                context.load_verify_locations(path)
        elif access.ca_file:
            context.load_verify_locations(access.ca_file)
        else:
            context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    except (OSError, ssl.SSLError) as error:
        name = access.ca_file or "certificate-authority-data"
        raise ClusterError(f"{name}: expected PEM certificates: {error.strerror or error}") from error


def _load_certificate(context: ssl.SSLContext, access: ClusterAccess, certificate: ClientCertificate | None) -> None:
    cert_data, cert_file = access.cert_data, access.cert_file
    key_data, key_file = access.key_data, access.key_file
    if certificate:
        cert_data, key_data = certificate
    if not (cert_data or cert_file):
        return
    try:
        with private_file(cert_data) as cert_path, private_file(key_data) as key_path:
            context.load_cert_chain(cert_path or cert_file or "", key_path or key_file)
    except (OSError, ssl.SSLError) as error:
        name = "client-certificate-data" if cert_data else cert_file
        raise ClusterError(f"{name}: expected a PEM certificate with its key: {error.strerror or error}") from error


@contextmanager
def private_file(data: bytes | None) -> Iterator[str | None]:
    """`data` under a path that only this user can open, gone at the end; None for None.

    `ssl` reads keys by path only. Where the kernel can, the file never touches a disk: a container's root is often
    read-only.
    """
    if data is None:
        yield None
    elif hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("waypost-pem")
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            yield f"/proc/self/fd/{descriptor}"
    else:
        with tempfile.NamedTemporaryFile() as file:  # mode 0600
            file.write(data)
            file.flush()
            yield file.name
