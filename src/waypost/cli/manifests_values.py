"""The values of `waypost manifests`' options, checked as the API server and kubeadm would. All raise InputError."""

from __future__ import annotations

import argparse
import re
from ipaddress import IPv4Address, IPv6Address, ip_address

from waypost.cli.podside import InputError
from waypost.corefile.zones import check_zone, normalize_name
from waypost.podside.dnsip import ServiceSubnetError, dns_ip

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII)
_MAX_SUBDOMAIN = 253
_WORD = re.compile(r"[^\s\"#{}$%,]+")
"""What stands in a Corefile as one word, whatever stands around it."""
_IMAGE = re.compile(r"[\w.:/@-]+", re.ASCII)


def service_addresses(cidr: str, *, both: bool) -> tuple[str, ...]:
    """The address of kube-dns; with `both` one of each of the two ranges."""
    ranges = cidr.split(",")
    if both and len(ranges) != 2:
        raise InputError(f"--service-cidr: --dual-stack needs two ranges, got '{cidr}'")
    try:
        addresses = (dns_ip(cidr), *map(dns_ip, ranges[1:] if both else ()))
    except ServiceSubnetError as exc:
        raise InputError(f"--service-cidr: {exc}") from exc
    if both and len({ip_address(address).version for address in addresses}) == 1:
        raise InputError(f"--service-cidr: --dual-stack needs one range of each family, got '{cidr}'")
    return addresses


def cluster_domain(text: str) -> str:
    """A DNS subdomain (RFC 1123) in lower case, a dot at its end left out."""
    domain = text.removesuffix(".")
    if len(domain) > _MAX_SUBDOMAIN or not _SUBDOMAIN.fullmatch(domain):
        raise InputError(f"--cluster-domain: expected a domain in lower case such as cluster.local, got '{text}'")
    return domain


def image(text: str) -> str:
    """An image reference; its registry is not asked."""
    if not _IMAGE.fullmatch(text):
        raise InputError(f"--image: expected an image such as registry.example/waypost:0.1.0, got '{text}'")
    return text


def local_address(text: str, service_address: str) -> str:
    """The cache's own address, of the family of the Service's."""
    try:
        address: IPv4Address | IPv6Address = ip_address(text)
    except ValueError:
        raise InputError(f"--local-ip: expected an IP address, got '{text}'") from None
    if address.version != ip_address(service_address).version:
        raise InputError(
            f"--local-ip: {address} is not of the family of the Service's address {service_address}; "
            "expected a free address of that family"
        )
    return str(address)


def upstream(text: str) -> tuple[str, ...]:
    """The servers of one --upstream; what they may look like is for `forward` to say."""
    return _servers("--upstream", text, text)


def stub_domain(text: str, domain: str) -> tuple[str, tuple[str, ...]]:
    """Zone and servers of one --stub-domain."""
    zone, separator, servers = text.partition("=")
    if not separator:
        raise InputError(f"--stub-domain: expected ZONE=ADDR[,ADDR], got '{text}'")
    name = normalize_name(zone).removesuffix(".")
    try:
        check_zone(name)
    except ValueError as exc:
        raise InputError(f"--stub-domain {text}: {exc}") from exc
    if not _WORD.fullmatch(name) or ":" in name or "/" in name or name == ".":
        raise InputError(f"--stub-domain: expected a zone such as corp.example, got '{zone}'")
    if name == domain:
        raise InputError(f"--stub-domain: {name} is the cluster domain, which the server answers itself")
    return name, _servers("--stub-domain", servers, text)


def _servers(option: str, text: str, shown: str) -> tuple[str, ...]:
    servers = tuple(text.split(","))
    if not all(_WORD.fullmatch(server) for server in servers):
        raise InputError(f"{option}: expected addresses such as 192.0.2.53 or tls://192.0.2.53, got '{shown}'")
    return servers


def replicas(text: str) -> int:
    """For argparse: a number of replicas. Raises ArgumentTypeError."""
    if not (text.isascii() and text.isdigit() and len(text) <= 6):
        raise argparse.ArgumentTypeError(f"expected a whole number, got '{text}'")
    return int(text)
