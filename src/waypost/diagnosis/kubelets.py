"""What kubelets are told about DNS: from kubeadm's ConfigMap, and from the configuration file of a node."""

from __future__ import annotations

from typing import Final, NamedTuple

from waypost.diagnosis.facts import Facts
from waypost.diagnosis.finding import Gap, Maybe, Unknown
from waypost.diagnosis.objects import ConfigMap
from waypost.manifests.documents import objects, yaml_values
from waypost.podside.objects import ObjectError, read_kubelet
from waypost.podside.policy import Kubelet

DEFAULT_RESOLV_CONF: Final = "/etc/resolv.conf"
_CONFIG_MAP: Final = "kubelet-config"
_KEY: Final = "kubelet"


class Told(NamedTuple):
    """A configuration, and where it stands."""

    source: str
    kubelet: Kubelet


def parse_kubelet(text: str, source: str) -> Maybe[Kubelet]:
    """The KubeletConfiguration in a text, or why there is none."""
    for _, value in yaml_values(text):
        if isinstance(value, str):
            return Gap(f"{source}: {value}")
        for _, item in objects(value):
            try:
                found = read_kubelet(item, DEFAULT_RESOLV_CONF)
            except ObjectError as error:
                return Gap(f"{source}: {error}")
            if found is not None:
                return found
    return Gap(f"{source}: no KubeletConfiguration")


def told_kubelets(facts: Facts) -> list[Told]:
    """All that is known. Raises Unknown if nothing is."""
    found: list[Told] = []
    reasons: list[str] = []
    try:
        maps = facts.objects().here(ConfigMap)
    except Unknown as error:
        maps = []
        reasons.append(str(error))
    for each in maps:
        # Until Kubernetes 1.24 the name ended in the version: kubelet-config-1.23.
        if (each.metadata.name + "-").startswith(_CONFIG_MAP + "-") and _KEY in each.data:
            source = f"ConfigMap {each.metadata.namespace}/{each.metadata.name}.data.{_KEY}"
            _keep(found, reasons, source, parse_kubelet(each.data[_KEY], source))
    if not isinstance(facts.node, Gap):
        _keep(found, reasons, "the node's kubelet", facts.node.kubelet)
    if not found:
        raise Unknown("; ".join(reasons) or f"no ConfigMap {_CONFIG_MAP}, and no file of a kubelet at hand")
    return found


def _keep(found: list[Told], reasons: list[str], source: str, kubelet: Maybe[Kubelet]) -> None:
    if isinstance(kubelet, Gap):
        reasons.append(kubelet.reason)
    else:
        found.append(Told(source, kubelet))
