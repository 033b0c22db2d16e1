"""The objects and logs from a folder, as `kubectl get -o yaml` and `kubectl cluster-info dump` write them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import Any, Final

from waypost.diagnosis.facts import Cluster
from waypost.diagnosis.finding import Gap, Maybe
from waypost.diagnosis.objects import KINDS, Object
from waypost.diagnosis.reading import read_object
from waypost.doctor.resources import RESOURCES, kind_of_plural
from waypost.kube.manifest_files import MAX_BYTES, find
from waypost.manifests.documents import Parsed, described, json_values, objects, yaml_values
from waypost.manifests.problem import FieldError, Problem

_LOG_ENDINGS: Final = (".log", ".txt")
_LOG_TAIL: Final = 256 * 1024
_MAX_DEPTH: Final = 8
_VERSION: Final = "version"


def read_folder(
    folder: str, kinds: Iterable[type[Object]], service: tuple[str, str], clients: tuple[str, str]
) -> Cluster:
    """Every object in the YAML and JSON files below the folder. Raises nothing: what cannot be read is a problem."""
    found: dict[type[Object], list[Any]] = {}
    problems: list[str] = []
    version: Maybe[str] = Gap(f"no answer of `kubectl version -o yaml` in {folder}")
    for path, stamp in find((folder,)).items():
        if isinstance(stamp, str):
            problems.append(str(Problem(path, 0, "", stamp)))
            continue
        for kind in _whole_kinds(path):
            found.setdefault(kind, [])
        for number, value in _values(path):
            if isinstance(value, str):
                problems.append(str(Problem(path, number, "", value)))
                continue
            version = _server_version(value.value) or version
            _take(value, path, number, found, problems)
    absent = {kind: Gap(_absence(kind, folder)) for kind in kinds if kind not in found}
    return Cluster({**found, **absent}, service, clients, problems, version)


def read_logs(folder: str, pods: Iterable[str]) -> dict[tuple[str, str], str]:
    """The end of each log that names a pod: `POD.log`, `POD-previous.log`, `POD/logs.txt`. Raises nothing."""
    wanted = tuple(pods)
    logs: dict[tuple[str, str], str] = {}
    for path in _files_below(folder):
        parts = PurePath(path).parts
        for pod in wanted:
            if parts[-1].startswith(pod) or pod in parts[-2:-1]:
                logs[pod, parts[-1]] = _tail(path)
    return logs


def _absence(kind: type[Object], folder: str) -> str:
    plural = RESOURCES[kind].plural
    return f"none in {folder}: if the cluster has none, an empty list in {plural}.yaml says so"


def _whole_kinds(path: str) -> Iterator[type[Object]]:
    """A file named after a resource (`pods.yaml`) has all there are, even if that is none."""
    kind = kind_of_plural(PurePath(path).stem)
    if kind is not None:
        yield kind


def _values(path: str) -> Iterator[tuple[int, Parsed | str]]:
    try:
        with open(path, "rb") as stream:
            text = stream.read(MAX_BYTES).decode()
    except OSError as error:
        yield 0, f"cannot be read: {error.strerror}"
    except UnicodeDecodeError as error:
        yield 0, f"not UTF-8 at byte {error.start}"
    else:
        yield from json_values(text) if path.endswith(".json") else yaml_values(text)


def _take(parsed: Parsed, path: str, number: int, found: dict[type[Object], list[Any]], problems: list[str]) -> None:
    kind = parsed.value.get("kind") if isinstance(parsed.value, dict) else None
    listed = KINDS.get(kind.removesuffix("List")) if isinstance(kind, str) and kind.endswith("List") else None
    if listed is not None:
        found.setdefault(listed, [])
    for place, item in objects(parsed):
        if isinstance(item, dict) and "kind" not in item:
            continue  # no object of the API, such as an answer of kubectl version
        try:
            obj = read_object(item)
        except FieldError as error:
            problems.append(str(Problem(path, number, place + error.field, error.text, described(item))))
            continue
        if obj is not None:
            found.setdefault(type(obj), []).append(obj)


def _server_version(value: Any) -> str:
    """That of `kubectl version -o yaml`; empty in any other file."""
    server = value.get("serverVersion") if isinstance(value, dict) else None
    found = server.get("gitVersion") if isinstance(server, dict) else None
    return found if isinstance(found, str) else ""


def _files_below(folder: str) -> Iterator[str]:
    """Files that may be logs; symlinks to folders are not followed."""
    depth = folder.rstrip(os.sep).count(os.sep)
    for parent, folders, files in os.walk(folder):
        if parent.count(os.sep) - depth >= _MAX_DEPTH:
            folders.clear()
        folders.sort()
        yield from (os.path.join(parent, name) for name in sorted(files) if name.endswith(_LOG_ENDINGS))


def _tail(path: str) -> str:
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return ""
        with open(path, "rb") as stream:
            stream.seek(0, os.SEEK_END)
            stream.seek(max(0, stream.tell() - _LOG_TAIL))
            return stream.read(_LOG_TAIL).decode("utf-8", "replace")
    except OSError:
        return ""
