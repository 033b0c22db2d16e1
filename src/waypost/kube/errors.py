"""What can go wrong between this program and a Kubernetes API server.

`ClusterError` is the base: a mistake in the access configuration, or credentials that cannot be had. The other three
are what an API server (or the network before it) does to us, and the reflector treats each in its own way.
"""

from __future__ import annotations

import msgspec

GONE = 410
"""HTTP status of a resource version that the server no longer remembers."""

GENERIC_TEXTS = {
    401: ("Unauthorized", "the server has asked for the client to provide credentials"),
    403: ("Forbidden", "the server does not allow this request"),
    404: ("NotFound", "the server could not find the requested resource"),
    410: ("Gone", "the requested version is gone"),
    429: ("TooManyRequests", "the server has received too many requests and has asked us to try again later"),
    503: ("ServiceUnavailable", "the server is currently unable to handle the request"),
    504: ("Timeout", "the server was unable to return a response in the time allotted"),
}
"""Reason and message for an HTTP status whose body is no Kubernetes Status; client-go's wording, which is logged."""


class ClusterError(Exception):
    """The cluster cannot be reached as configured. The text names the file and field, or the URL."""


class ApiUnreachable(ClusterError):
    """No usable HTTP answer: refused, reset, timed out, cut, or TLS that does not verify."""


class ApiProtocolError(ClusterError):
    """An answer that is not what the Kubernetes API sends: bad JSON, another kind, an endless line."""


class ApiStatusError(ClusterError):
    """The server said no. `retry_after` is in seconds, None when the server did not ask for a pause."""

    def __init__(self, code: int, reason: str, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.retry_after = retry_after

    @property
    def expired(self) -> bool:
        """True when a resource version or continue token is too old to go on from."""
        return self.code == GONE or self.reason in ("Expired", "Gone")


class StatusDetails(msgspec.Struct, rename="camel"):
    """StatusDetails of the Kubernetes API."""

    retry_after_seconds: int = 0


class Status(msgspec.Struct, rename="camel"):
    """metav1.Status: what the API server answers instead of an object."""

    kind: str = ""
    message: str = ""
    reason: str = ""
    code: int = 0
    details: StatusDetails | None = None

    def error(self) -> ApiStatusError:
        """This status as an exception."""
        pause = self.details.retry_after_seconds if self.details else 0
        return ApiStatusError(self.code, self.reason, self.message or self.reason, float(pause) if pause else None)


STATUS = msgspec.json.Decoder(Status)


def status_error(code: int, body: bytes, retry_after: str | None) -> ApiStatusError:
    """HTTP status `code` with its `body` and Retry-After header (seconds) as an exception."""
    error = _from_body(body)
    if error is None:
        reason, message = GENERIC_TEXTS.get(code, ("", f"unexpected HTTP status {code}"))
        error = ApiStatusError(code, reason, message)
    if retry_after and retry_after.isascii() and retry_after.isdigit():
        error.retry_after = float(retry_after[:6])
    error.code = code
    return error


def _from_body(body: bytes) -> ApiStatusError | None:
    try:
        status = STATUS.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return status.error() if status.kind == "Status" and status.message else None
