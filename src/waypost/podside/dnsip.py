"""Which addresses kubeadm gives to cluster DNS and to the API server's Service, from `networking.serviceSubnet`."""

from __future__ import annotations

from waypost.podside.addresses import Network, parse_cidr
from waypost.podside.validation import INVALID, FieldError

_DNS_INDEX = 10
_API_SERVICE_INDEX = 1
_MIN_ADDRESSES = 10
_MAX_HOST_BITS = 20
_UNCOUNTABLE_BITS = {32: 31, 128: 127}
"""Networks with so many host bits count as empty."""
_FIELD = "networking.serviceSubnet"


class ServiceSubnetError(Exception):
    """A service subnet from which no address can be taken."""


def dns_ip(service_subnet: str) -> str:
    """The tenth address of the first of the comma-separated CIDRs. Raises ServiceSubnetError."""
    prefix = "unable to get internal Kubernetes Service IP from the given service CIDR"
    networks, fault = _networks(service_subnet)
    if fault:
        raise ServiceSubnetError(f"{prefix} ({service_subnet}): {fault}")
    return _indexed(networks[0], _DNS_INDEX, prefix)


def api_service_ip(service_subnet: str) -> str:
    """The first address of the first CIDR. Raises ServiceSubnetError."""
    networks, fault = _networks(service_subnet)
    if fault:
        raise ServiceSubnetError(f"unable to get internal Kubernetes Service IP from the given service CIDR: {fault}")
    return _indexed(
        networks[0], _API_SERVICE_INDEX, f"unable to get the first IP address from the given CIDR: {networks[0]}"
    )


def subnet_errors(service_subnet: str) -> list[FieldError]:
    """What kubeadm's check of a ClusterConfiguration says of the same text; nothing of an empty one."""
    if not service_subnet:
        return []
    networks, fault = _networks(service_subnet)
    if fault:
        return [FieldError(_FIELD, INVALID, "couldn't parse subnet", service_subnet)]
    details = []
    if len(networks) > 2 or (len(networks) == 2 and networks[0].is_v4 == networks[1].is_v4):
        details.append("expected one (IPv4 or IPv6) CIDR or two CIDRs from each family for dual-stack networking")
    for network in networks:
        count = 0 if network.host_bits >= _UNCOUNTABLE_BITS[network.bits] else 1 << network.host_bits
        if count < _MIN_ADDRESSES:
            details.append(f"subnet with {count} address(es) is too small, the minimum is {_MIN_ADDRESSES}")
    for network in networks:
        if network.host_bits > _MAX_HOST_BITS:
            least = network.bits - _MAX_HOST_BITS
            details.append(
                f"specified service subnet is too large; for {network.bits}-bit addresses, the mask must be >= {least}"
            )
    return [FieldError(_FIELD, INVALID, detail, service_subnet) for detail in details]


def _networks(service_subnet: str) -> tuple[list[Network], str]:
    """The CIDRs, or what is wrong with the first bad one."""
    networks = []
    for index, text in enumerate(service_subnet.split(",")):
        network = parse_cidr(text)
        if network is None:
            reason = f"invalid CIDR[{index}]: <nil> (invalid CIDR address: {text})"
            return [], f"unable to parse ServiceSubnet {service_subnet}: {reason}"
        networks.append(network)
    return networks, ""


def _indexed(network: Network, index: int, prefix: str) -> str:
    address = network.at(index)
    if address is None:
        reason = f'can\'t generate IP with index {index} from subnet. subnet too small. subnet: "{network}"'
        raise ServiceSubnetError(f"{prefix}: {reason}")
    return str(address)
