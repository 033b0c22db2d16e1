"""The files that a DNS pod has from ConfigMaps, and which of them is its Corefile."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from waypost.diagnosis.facts import Cluster
from waypost.diagnosis.finding import Unknown
from waypost.diagnosis.flags import option
from waypost.diagnosis.objects import ConfigMap
from waypost.diagnosis.workloads import ConfigMapVolume, Container, PodSpec, Volume

_CONFIG_MAP: Final = "coredns"
_KEY: Final = "Corefile"
_FOLDER: Final = "/etc/coredns"


@dataclass(frozen=True, slots=True)
class Mounted:
    """`corefile` is the path of the Corefile; `files` are texts and `sources` ConfigMaps, both by absolute path."""

    corefile: str
    files: Mapping[str, str]
    sources: Mapping[str, ConfigMap]
    env: Mapping[str, str]

    @property
    def source(self) -> str:
        """Where the Corefile comes from, as evidence names it."""
        meta = self.config_map.metadata
        return f"ConfigMap {meta.namespace}/{meta.name}"

    @property
    def config_map(self) -> ConfigMap:
        """That of the Corefile."""
        return self.sources[self.corefile]


def mounted(cluster: Cluster) -> Mounted:
    """The files of the DNS pods; without any pod that mounts a Corefile, the ConfigMap `coredns`. Raises Unknown."""
    maps = {each.metadata.name: each for each in cluster.here(ConfigMap)}
    for spec in _specs(cluster):
        for container in spec.containers:
            files = dict(_files(spec, container, maps))
            texts = {path: text for path, (text, _) in files.items()}
            sources = {path: source for path, (_, source) in files.items()}
            corefile = _corefile(container, texts)
            if corefile:
                env = {each.name: each.value for each in container.env}
                return Mounted(corefile, texts, sources, env)
    plain = maps.get(_CONFIG_MAP)
    if plain is None or _KEY not in plain.data:
        raise Unknown(
            f"no Corefile: no DNS pod mounts one from a ConfigMap, and there is no ConfigMap"
            f" {cluster.namespace}/{_CONFIG_MAP} with key {_KEY}"
        )
    path = f"{_FOLDER}/{_KEY}"
    texts = {_clean(_FOLDER, key): text for key, text in plain.data.items()}
    return Mounted(path, texts, dict.fromkeys(texts, plain), {})


def _specs(cluster: Cluster) -> Iterator[PodSpec]:
    """What runs, then what would be started."""
    for found in (cluster.dns_pods, cluster.dns_deployments):
        try:
            owners = found()
        except Unknown:
            continue
        for owner in owners:
            yield owner.spec if isinstance(owner.spec, PodSpec) else owner.spec.template.spec


def _files(
    spec: PodSpec, container: Container, maps: Mapping[str, ConfigMap]
) -> Iterator[tuple[str, tuple[str, ConfigMap]]]:
    volumes = {volume.name: volume for volume in spec.volumes}
    for mount in container.volume_mounts:
        volume = volumes.get(mount.name)
        for source in _sources(volume) if volume is not None else ():
            held = maps.get(source.name)
            if held is None:
                continue
            keys = {item.key: item.path for item in source.items} or {key: key for key in held.data}
            for key, path in keys.items():
                if key not in held.data:
                    continue
                if not mount.sub_path:
                    yield _clean(mount.mount_path, path), (held.data[key], held)
                elif mount.sub_path == path:
                    yield _clean(mount.mount_path), (held.data[key], held)


def _clean(*parts: str) -> str:
    """An absolute path that does not lead out of the root."""
    return posixpath.normpath("/" + "/".join(parts).lstrip("/"))


def _sources(volume: Volume) -> list[ConfigMapVolume]:
    if volume.config_map is not None:
        return [volume.config_map]
    projected = volume.projected.sources if volume.projected is not None else []
    return [source.config_map for source in projected if source.config_map is not None]


def _corefile(container: Container, files: Mapping[str, str]) -> str:
    """The path that `-conf` names if it is among the files, else a file named Corefile; empty if there is none."""
    named = option(container, "conf")
    if named is not None:
        return named if named in files else ""
    return next((path for path in files if posixpath.basename(path) == _KEY), "")
