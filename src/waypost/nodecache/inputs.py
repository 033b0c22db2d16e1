"""The files that decide the Corefile: the template, and the keys of kube-dns's ConfigMap, each a file of a folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from waypost.migration.kubedns import KEYS, KubeDnsError, stub_domains, upstream_nameservers
from waypost.nodecache.failure import SetupError
from waypost.nodecache.settings import Settings
from waypost.nodecache.template import TemplateError, Values, render, service_variable

DEFAULT_KUBE_DNS_FOLDER = "/etc/kube-dns"


class Inputs(NamedTuple):
    """What the files say; equal inputs give the same Corefile."""

    base: str
    kube_dns: Mapping[str, str]


def read_inputs(settings: Settings) -> Inputs:
    """Read all of them. Raises SetupError."""
    return Inputs(_read(Path(settings.base_corefile)), _read_folder(settings.kube_dns_folder))


def make_corefile(inputs: Inputs, settings: Settings, environment: Mapping[str, str]) -> str:
    """The text of the Corefile. Raises SetupError."""
    variable = service_variable(settings.upstream_service)
    try:
        values = Values(
            settings.local_ips,
            environment.get(variable, ""),
            variable,
            upstream_nameservers(inputs.kube_dns),
            stub_domains(inputs.kube_dns),
            settings.port,
            settings.local_ips if settings.sets_up_interface else (),
        )
        return render(inputs.base, settings.base_corefile, values)
    except KubeDnsError as exc:
        raise SetupError("configmap", f"{settings.kube_dns_folder}: {exc}") from exc
    except TemplateError as exc:
        raise SetupError("configmap", str(exc)) from exc


def write_corefile(path: str, text: str) -> None:
    """Replace it in one step, so that nobody reads a half. Raises SetupError."""
    beside = Path(f"{path}.new")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except OSError as exc:
        raise SetupError("configmap", f"{path}: {_reason(exc)}") from exc


def _read_folder(name: str) -> dict[str, str]:
    folder = Path(name or DEFAULT_KUBE_DNS_FOLDER)
    try:
        return {key: _read(folder / key) for key in KEYS if (folder / key).is_file()}
    except OSError as exc:
        raise SetupError("configmap", f"{folder}: {_reason(exc)}") from exc


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as exc:
        raise SetupError("configmap", f"{path}: expected text in UTF-8, byte {exc.start} is none") from exc
    except OSError as exc:
        raise SetupError("configmap", f"{path}: {_reason(exc)}") from exc


def _reason(exc: OSError) -> str:
    return os.strerror(exc.errno).lower() if exc.errno else str(exc)
