"""What the API server says about a pod's dnsPolicy and dnsConfig (Kubernetes 1.36, default feature gates)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from waypost.podside.addresses import parse_lenient, parse_strict
from waypost.podside.policy import (
    MAX_NAME,
    MAX_NAMESERVERS,
    MAX_SEARCH_LINE,
    MAX_SEARCHES,
    NONE,
    POLICIES,
    DnsConfig,
    PodDns,
    byte_length,
)

REQUIRED: Final = "FieldValueRequired"
INVALID: Final = "FieldValueInvalid"
NOT_SUPPORTED: Final = "FieldValueNotSupported"
_TITLES = {REQUIRED: "Required value", INVALID: "Invalid value", NOT_SUPPORTED: "Unsupported value"}

_SUBDOMAIN: Final = r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*"
_NO_SUBDOMAIN: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must "
    f"start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)


class FieldError(NamedTuple):
    """One error of the API server; `value` is what stands there, None where nothing does."""

    field: str
    type: str
    detail: str
    value: str | tuple[str, ...] | None = None

    @property
    def message(self) -> str:
        """The whole sentence, as kubectl shows it."""
        shown = (
            f": {json.dumps(self.value, ensure_ascii=False, separators=(',', ':'))}" if self.value is not None else ""
        )
        return f"{self.field}: {_TITLES[self.type]}{shown}" + (f": {self.detail}" if self.detail else "")


def validate(pod: PodDns, path: str = "spec", *, defaulting: bool = True) -> list[FieldError]:
    """Every error in the API server's order; `path` is the pod spec's place in the object.

    Without defaulting an omitted policy is an error too.
    """
    errors = []
    policy = pod.policy if defaulting else pod.dns_policy
    if not policy:
        errors.append(FieldError(f"{path}.dnsPolicy", REQUIRED, ""))
    elif policy not in POLICIES:
        supported = "supported values: " + ", ".join(f'"{known}"' for known in POLICIES)
        errors.append(FieldError(f"{path}.dnsPolicy", NOT_SUPPORTED, supported, policy))
    return [*errors, *_config_errors(policy, pod.dns_config, f"{path}.dnsConfig")]


def warnings(pod: PodDns, path: str = "spec") -> list[str]:
    """What the API server warns of and yet accepts, or will refuse: addresses that are not written canonically."""
    nameservers = pod.dns_config.nameservers if pod.dns_config is not None else ()
    found = []
    for index, text in enumerate(nameservers):
        field, address = f"{path}.dnsConfig.nameservers[{index}]", parse_lenient(text)
        if address is None:
            continue
        if _fault(text):
            found.append(f'{field}: non-standard IP address "{text}" is invalid: use "{address}"')
        elif text != str(address):
            found.append(f'{field}: IPv6 address "{text}" should be in RFC 5952 canonical format ("{address}")')
    return found


def _config_errors(policy: str, config: DnsConfig | None, path: str) -> Iterator[FieldError]:
    if policy == NONE and config is None:
        yield FieldError(path, REQUIRED, "must provide `dnsConfig` when `dnsPolicy` is None")
        return
    if config is None:
        return
    if policy == NONE and not config.nameservers:
        detail = "must provide at least one DNS nameserver when `dnsPolicy` is None"
        yield FieldError(f"{path}.nameservers", REQUIRED, detail)
        return
    yield from _nameserver_errors(config.nameservers, f"{path}.nameservers")
    yield from _search_errors(config.searches, f"{path}.searches")
    for index, option in enumerate(config.options):
        if not option.name:
            yield FieldError(f"{path}.options[{index}]", REQUIRED, "must not be empty")


def _nameserver_errors(nameservers: tuple[str, ...], path: str) -> Iterator[FieldError]:
    if len(nameservers) > MAX_NAMESERVERS:
        yield FieldError(path, INVALID, f"must not have more than {MAX_NAMESERVERS} nameservers", nameservers)
    for index, text in enumerate(nameservers):
        if fault := _fault(text):
            yield FieldError(f"{path}[{index}]", INVALID, fault, text)


def _search_errors(searches: tuple[str, ...], path: str) -> Iterator[FieldError]:
    if len(searches) > MAX_SEARCHES:
        yield FieldError(path, INVALID, f"must not have more than {MAX_SEARCHES} search paths", searches)
    if byte_length(" ".join(searches)) > MAX_SEARCH_LINE:
        detail = f"must not have more than {MAX_SEARCH_LINE} characters (including spaces) in the search list"
        yield FieldError(path, INVALID, detail, searches)
    for index, search in enumerate(searches):
        if search != ".":
            domain = search.removesuffix(".")
            yield from (FieldError(f"{path}[{index}]", INVALID, fault, domain) for fault in _domain_faults(domain))


def _domain_faults(domain: str) -> Sequence[str]:
    """Labels may be of any length, only the whole is limited."""
    faults = [f"must be no more than {MAX_NAME} bytes"] if byte_length(domain) > MAX_NAME else []
    return faults if re.fullmatch(_SUBDOMAIN, domain) else [*faults, _NO_SUBDOMAIN]


def _fault(text: str) -> str:
    """What is wrong with an address, empty if nothing is."""
    if parse_lenient(text) is None:
        return "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
    strict = parse_strict(text)
    if strict is None:
        return "must not have leading 0s"
    if strict.version == 6 and strict.ipv4_mapped is not None:
        return "must not be an IPv4-mapped IPv6 address"
    return ""
