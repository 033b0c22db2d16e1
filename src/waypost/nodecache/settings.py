"""What the flags say. Their names, defaults and error texts are those of NodeLocal DNSCache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Final, Literal, TypeAlias

from waypost.corefile.addresses import parse_ip
from waypost.corefile.addresses import parse_port as parse_any_port
from waypost.corefile.values import parse_duration

IpAddress: TypeAlias = IPv4Address | IPv6Address
Backend: TypeAlias = Literal["auto", "nftables", "iptables"]
_MIN_INTERVAL: Final = 1.0
_MAX_INTERVAL: Final = 1e6


class SettingsError(Exception):
    """A flag's value that cannot be used."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Times are in seconds. `local_ips` are as given, `addresses` the same as the kernel writes them."""

    local_ips: tuple[str, ...]
    corefile: str = "/etc/Corefile"
    base_corefile: str = "/etc/coredns/Corefile.base"
    upstream_service: str = "kube-dns"
    kube_dns_folder: str = ""
    interface: str = "nodelocaldns"
    interface_kind: str = "dummy"
    sets_up_interface: bool = True
    sets_up_rules: bool = True
    rules: Backend = "auto"
    sync_interval: float = 60.0
    skips_teardown: bool = False
    port: str = "53"
    health_port: str = "8080"
    metrics_address: str = "0.0.0.0:9353"
    reloads_with_signal: bool = False
    hang_timeout: float = 30.0
    ready_file: str = ""
    pid_file: str = ""
    quiet: bool = False

    @property
    def addresses(self) -> tuple[IpAddress, ...]:
        """An IPv4 address written as a mapped one is an IPv4 address."""
        return tuple(map(_address, self.local_ips))

    @property
    def version(self) -> Literal[4, 6]:
        """The family, the same of all."""
        return self.addresses[0].version


def parse_local_ips(text: str) -> tuple[str, ...]:
    """Addresses with commas between them, all of one family. Raises SettingsError."""
    found = tuple(text.split(","))
    for each in found:
        try:
            address = _address(each)
        except ValueError:
            raise SettingsError(f'invalid localip specified - "{each}"') from None
        if address.version != _address(found[0]).version:
            wanted = str(_address(found[0]).version == 6).lower()
            raise SettingsError(f'unexpected IP Family for localIP - "{each}", want IPv6={wanted}')
    return found


def parse_port(text: str, what: str = "port") -> str:
    """A port as digits; `what` names it in the error. Raises SettingsError."""
    try:
        number = parse_any_port(text)
    except ValueError:
        number = 0
    if number == 0:
        raise SettingsError(f'invalid {what} specified - "{text}"')
    return str(number)


def parse_sync_interval(text: str) -> float:
    """Seconds. NodeLocal DNSCache counts each nanosecond as a second, so `60ns` is as good as `60s` and `60`.

    Raises SettingsError.
    """
    number = text.removesuffix("ns")
    try:
        seconds = float(int(number)) if number.isascii() and number.isdigit() else parse_duration(text)
    except (ValueError, OverflowError):
        seconds = 0.0
    if not _MIN_INTERVAL <= seconds <= _MAX_INTERVAL:
        raise SettingsError(f'invalid syncinterval specified - "{text}", expected 1s or more')
    return seconds


def health_checked(addresses: Sequence[IpAddress]) -> IpAddress:
    """The address to ask before any rule stands: kube-proxy takes packets to the Service's address elsewhere then."""
    return next((each for each in addresses if each.is_link_local), addresses[0])


def _address(text: str) -> IpAddress:
    address = parse_ip(text)
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
