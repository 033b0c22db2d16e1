"""A node's files, from its own root or from a copy of some of them."""

from __future__ import annotations

import os
import stat
from typing import Final

from waypost.diagnosis.facts import NodeFiles, NodeText
from waypost.diagnosis.finding import Gap, Maybe
from waypost.diagnosis.kubelets import DEFAULT_RESOLV_CONF, parse_kubelet
from waypost.podside.policy import Kubelet

KUBELET_CONFIG: Final = "/var/lib/kubelet/config.yaml"
_UPLINKS: Final = "/run/systemd/resolve/resolv.conf"
_CONNTRACK: Final = "/proc/net/stat/nf_conntrack"
_COUNT: Final = "/proc/sys/net/netfilter/nf_conntrack_count"
_MAX: Final = "/proc/sys/net/netfilter/nf_conntrack_max"
_MAX_BYTES: Final = 10 * 1024 * 1024
_MAX_LINKS: Final = 40


def read_node(root: str) -> NodeFiles:
    """What the checks look at, below `root` (`/` for this machine). Raises nothing."""
    config = read_file(root, KUBELET_CONFIG)
    kubelet: Maybe[Kubelet]
    kubelet = config if isinstance(config, Gap) else parse_kubelet(config.text, KUBELET_CONFIG)
    path = DEFAULT_RESOLV_CONF if isinstance(kubelet, Gap) else kubelet.resolv_conf
    return NodeFiles(
        kubelet,
        read_file(root, path) if path else Gap(f'{KUBELET_CONFIG}: resolvConf: "": pods do not get the node\'s file'),
        read_file(root, _UPLINKS),
        read_file(root, _CONNTRACK),
        read_file(root, _COUNT),
        read_file(root, _MAX),
    )


def read_file(root: str, path: str) -> Maybe[NodeText]:
    """The file that the node has at `path`, or why it cannot be read."""
    try:
        real = _resolve(root, path)
        if not stat.S_ISREG(os.stat(real).st_mode):
            return Gap(f"{path}: not a file")
        with open(real, "rb") as stream:
            return NodeText(path, stream.read(_MAX_BYTES))
    except (OSError, ValueError) as error:
        return Gap(f"{path}: {getattr(error, 'strerror', None) or error}")


def _resolve(root: str, path: str) -> str:
    """The place below `root`: a link of a copied node means the node's own files, never ours. Raises OSError."""
    done: list[str] = []
    left = [part for part in reversed(path.split("/")) if part]
    links = 0
    while left:
        part = left.pop()
        if part in (".", ""):
            continue
        if part == "..":
            done = done[:-1]
            continue
        here = os.path.join(root, *done, part)
        if not os.path.islink(here):
            done.append(part)
            continue
        links += 1
        if links > _MAX_LINKS:
            raise OSError(f"more than {_MAX_LINKS} links")
        target = os.readlink(here)
        if target.startswith("/"):
            done = []
        left += [step for step in reversed(target.split("/")) if step]
    return os.path.join(root, *done)
