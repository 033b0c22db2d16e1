"""What kubelets themselves have said about resolv.conf lately."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from waypost.diagnosis.facts import Facts
from waypost.diagnosis.finding import Outcome, counted, ok, warning
from waypost.diagnosis.objects import Event

REASONS: Final = {
    "DNSConfigForming": "shorten the pod's dnsConfig, or the node's search list and name servers",
    "MissingClusterDNS": "set clusterDNS in the kubelet's configuration and restart it",
    "CheckLimitsForResolvConf": "shorten the search line of the node's resolv.conf, or correct the file",
}
"""Reason of an event -> what to do."""
_SHOWN: Final = 3


def judge(facts: Facts) -> Iterator[Outcome]:
    """One outcome for each reason."""
    found: dict[str, dict[str, str]] = {}
    for event in facts.objects().all(Event):
        if event.reason in REASONS:
            about = event.involved_object
            where = f"{about.kind} {about.namespace}/{about.name}" if about.namespace else f"{about.kind} {about.name}"
            found.setdefault(event.reason, {})[where] = event.message
    for reason, by_object in found.items():
        lines = [f"Event {reason} of {where}: {message}" for where, message in by_object.items()]
        yield warning(
            f"kubelets report {reason} for {counted(len(lines), 'object')}", *lines[:_SHOWN], remedy=REASONS[reason]
        )
    if not found:
        yield ok("no kubelet complains about resolv.conf")
