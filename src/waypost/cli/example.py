"""The bundled example: the stock kubeadm Corefile over a small cluster of manifests."""

from __future__ import annotations

from pathlib import Path

from waypost import manifests
from waypost.control.build import Listen
from waypost.corefile.addresses import join_host_port

FOLDER = Path(manifests.__file__).parent / "example"
COREFILE = FOLDER / "Corefile"
_QUESTIONS = (
    ("web.shop.svc.cluster.local", "A", "a Service by its cluster address"),
    ("db-0.db.shop.svc.cluster.local", "A", "a pod of a StatefulSet by its name"),
    ("_http._tcp.web.shop.svc.cluster.local", "SRV", "a named port"),
)


HINT = f"""
The stock Corefile also listens for probes and metrics. If one of its ports is taken here, copy it and change that:
    cp {COREFILE} Corefile
    waypost serve --example --conf Corefile"""


def announcement(listen: Listen | None) -> str:
    """What is served, and three lines to try."""
    host, port = (listen.host, listen.port) if listen is not None else ("127.0.0.1", "53")
    place = f"{join_host_port(host, port)}, UDP and TCP"
    width = max(len(name) + len(rtype) for name, rtype, _ in _QUESTIONS) + 1
    lines = [
        f"\nServing the example cluster of {FOLDER}",
        f"with the Corefile of a kubeadm cluster ({COREFILE.name} beside it) on {place}. Try:\n",
    ]
    for name, rtype, text in _QUESTIONS:
        lines.append(f"dig @{host} -p {port} {f'{name} {rtype}':<{width}}   # {text}")
    lines.append("\nChange a manifest and ask again; Ctrl-C ends it.")
    return "\n".join(lines)
