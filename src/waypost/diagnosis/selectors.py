"""LabelSelector of the Kubernetes API as a predicate over labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from waypost.cluster.selector import none_of, one_of
from waypost.diagnosis.objects import LabelSelector, Requirement

_OPERATORS: dict[str, Callable[[Requirement], Callable[[Mapping[str, str]], bool]]] = {
    "In": lambda wanted: one_of(wanted.key, set(wanted.values)),
    "NotIn": lambda wanted: none_of(wanted.key, set(wanted.values)),
    "Exists": lambda wanted: lambda labels: wanted.key in labels,
    "DoesNotExist": lambda wanted: lambda labels: wanted.key not in labels,
}


def selects(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    """Whether the labels have all that is asked for. An operator that the API does not know selects nothing."""
    return selector.match_labels.items() <= labels.items() and all(
        wanted.operator in _OPERATORS and _OPERATORS[wanted.operator](wanted)(labels)
        for wanted in selector.match_expressions
    )
