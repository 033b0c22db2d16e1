"""Decoded YAML or JSON to what decides a pod's resolv.conf: pods, workloads with a template, KubeletConfiguration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from waypost.podside.policy import DnsConfig, DnsOption, Kubelet, PodDns

_TEMPLATES: Final = (("spec", "template"), ("spec", "jobTemplate", "spec", "template"), ("template",))
_CONFIG_FIELDS: Final = ("nameservers", "searches", "options")
_HEEDED_ENV: Final = ("RES_OPTIONS", "LOCALDOMAIN")
_MAX_HOSTNAME: Final = 63


class ObjectError(Exception):
    """A field that does not hold what the API takes: `spec.dnsConfig.searches: expected a list, got 'corp.example'`."""

    def __init__(self, path: str, text: str) -> None:
        super().__init__(f"{path}: {text}" if path else text)


@dataclass(frozen=True, slots=True)
class PodObject:
    """A pod with the place of its spec (`spec.template.spec`) and what a resolver inside sees of it."""

    dns: PodDns
    path: str = "spec"
    hostname: str = ""
    subdomain: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    address: str = ""
    """`status.podIP` of a pod that runs."""

    def kernel_hostname(self, cluster_domain: str) -> str:
        """What gethostname(2) gives: fully qualified with setHostnameAsFQDN, which leaves a subdomain here."""
        if not self.subdomain:
            return self.hostname
        return f"{self.hostname}.{self.subdomain}.{self.dns.namespace}.svc.{cluster_domain}"


def read_pod(value: object, namespace: str) -> PodObject | None:
    """The pod of an object, or the one a workload makes; None for an object without. Raises ObjectError.

    `namespace` is for objects that name none.
    """
    found = _Fields(value, "")
    place = next(_places(found), None)
    if place is None:
        return None
    meta = found.object("metadata")
    spec = place.object("spec")
    dns = PodDns(
        meta.text("name") or "pod",
        meta.text("namespace") or namespace,
        meta.text("uid"),
        spec.text("dnsPolicy"),
        spec.truth("hostNetwork"),
        _read_config(spec.object("dnsConfig")) if spec.has("dnsConfig") else None,
    )
    hostname = spec.text("hostname") or dns.name[:_MAX_HOSTNAME].rstrip("-.")
    subdomain = spec.text("subdomain") if spec.truth("setHostnameAsFQDN") else ""
    address = found.object("status").text("podIP") if spec.path == "spec" else ""
    return PodObject(dns, spec.path, hostname, subdomain, _read_env(spec), address)


def read_kubelet(value: object, resolv_conf: str) -> Kubelet | None:
    """A KubeletConfiguration, None for another kind of object. Raises ObjectError.

    `resolv_conf` is the node's file where it names none.
    """
    found = _Fields(value, "")
    if found.text("kind") not in ("", "KubeletConfiguration"):
        return None
    path = found.text("resolvConf") if found.has("resolvConf") else resolv_conf
    return Kubelet(found.texts("clusterDNS"), found.text("clusterDomain"), path)


def _places(found: _Fields) -> Iterator[_Fields]:
    """The object that holds the pod spec."""
    if found.text("kind") in ("Pod", "") and found.has("spec") and not found.object("spec").has("template"):
        yield found
    for path in _TEMPLATES:
        place = found
        for step in path:
            if not place.has(step):
                break
            place = place.object(step)
        else:
            if place.has("spec"):
                yield place


def _read_config(config: _Fields) -> DnsConfig:
    for name in config.names():
        if name not in _CONFIG_FIELDS:
            raise ObjectError(f"{config.path}.{name}", f"unknown field; there are {', '.join(_CONFIG_FIELDS)}")
    options = tuple(
        DnsOption(option.text("name"), option.text("value") if option.has("value") else None)
        for option in config.objects("options")
    )
    return DnsConfig(config.texts("nameservers"), config.texts("searches"), options)


def _read_env(spec: _Fields) -> dict[str, str]:
    """The variables of the first container that a resolver heeds, where the manifest gives their value."""
    containers = spec.objects("containers")
    entries = containers[0].objects("env") if containers else []
    return {entry.text("name"): entry.text("value") for entry in entries if entry.text("name") in _HEEDED_ENV}


class _Fields:
    """An object and its place, for messages. A field that is null is absent."""

    __slots__ = ("_value", "path")

    def __init__(self, value: object, path: str) -> None:
        if not isinstance(value, dict):
            raise ObjectError(path, f"expected an object, got {_shown(value)}")
        self._value: dict[str, Any] = value
        self.path = path

    def names(self) -> list[str]:
        return list(self._value)

    def has(self, name: str) -> bool:
        return self._value.get(name) is not None

    def object(self, name: str) -> _Fields:
        return _Fields(self._value.get(name) if self.has(name) else {}, self._at(name))

    def objects(self, name: str) -> list[_Fields]:
        return [_Fields(item, f"{self._at(name)}[{place}]") for place, item in enumerate(self._list(name))]

    def text(self, name: str) -> str:
        return _text(self._value[name], self._at(name)) if self.has(name) else ""

    def texts(self, name: str) -> tuple[str, ...]:
        return tuple(_text(item, f"{self._at(name)}[{place}]") for place, item in enumerate(self._list(name)))

    def truth(self, name: str) -> bool:
        value = self._value.get(name)
        if value is not None and not isinstance(value, bool):
            raise ObjectError(self._at(name), f"expected true or false, got {_shown(value)}")
        return bool(value)

    def _list(self, name: str) -> list[Any]:
        value = self._value.get(name)
        if value is not None and not isinstance(value, list):
            raise ObjectError(self._at(name), f"expected a list, got {_shown(value)}")
        return value or []

    def _at(self, name: str) -> str:
        return f"{self.path}.{name}".lstrip(".")


def _text(value: object, path: str) -> str:
    if not isinstance(value, str):
        hint = " (put it in quotes)" if isinstance(value, (int, float)) else ""
        raise ObjectError(path, f"expected a string, got {_shown(value)}{hint}")
    return value


def _shown(value: object) -> str:
    """A value in a message: short ones as YAML writes them, large ones by their type."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if value is None or isinstance(value, bool):
        return {None: "nothing", True: "true", False: "false"}[value]
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
