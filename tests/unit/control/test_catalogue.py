"""Plugins that packages add: where they stand, and which do not fit in."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from types import ModuleType

import pytest

from support.serving import Serving
from waypost.control.catalogue import GROUP, NOT_INCLUDED, Catalogue, extend
from waypost.corefile.errors import CorefileError
from waypost.plugins.order import ORDER
from waypost.wire.reply import DROP


def point(monkeypatch: pytest.MonkeyPatch, name: str, **attributes: object) -> EntryPoint:
    module = ModuleType(f"added_{name}")
    module.__dict__.update(attributes)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return EntryPoint(name, module.__name__, GROUP)


def nothing(directive: object, site: object) -> None:
    """A setup."""


def test_without_packages_it_is_the_built_in_order() -> None:
    assert extend([]) == Catalogue()
    assert Catalogue().order == ORDER
    assert Catalogue().load("whoami") is not None
    assert Catalogue().load("azure") is None


@pytest.mark.parametrize("name", NOT_INCLUDED)
def test_what_is_left_out_is_refused_with_what_to_use_instead(name: str) -> None:
    with pytest.raises(CorefileError) as raised:
        Serving(f". {{\n{name} group:example.org {{\nfallthrough\n}}\n}}", lambda request: DROP)
    assert str(raised.value).startswith(f"Corefile:2 - Error during parsing: directive '{name}' is not included: ask")


def test_next_to_a_directive(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        point(monkeypatch, "zeta", setup=nothing, BEFORE="cache"),
        point(monkeypatch, "alpha", setup=nothing, AFTER="template"),
        point(monkeypatch, "beta", setup=nothing, AFTER="alpha"),
    ]
    catalogue = extend(points)
    order = list(catalogue.order)
    assert order[order.index("cache") - 1] == "zeta"
    assert order[order.index("template") :][:3] == ["template", "alpha", "beta"]
    assert [name for name in order if name in ORDER] == list(ORDER)
    assert catalogue.load("zeta") is not None


@pytest.mark.parametrize(
    ("name", "attributes", "reason"),
    [
        ("whoami", {"setup": nothing, "AFTER": "log"}, "the directive 'whoami' is there already"),
        ("mine", {"AFTER": "log"}, "it has no function setup(directive, site)"),
        ("mine", {"setup": nothing}, "expected BEFORE or AFTER"),
        ("mine", {"setup": nothing, "BEFORE": "nobody"}, "BEFORE = 'nobody': expected the name of a directive"),
    ],
)
def test_what_does_not_fit_is_said(
    monkeypatch: pytest.MonkeyPatch, name: str, attributes: dict[str, object], reason: str
) -> None:
    with pytest.raises(CorefileError, match=f"^plugin '{name}' of package added_{name} cannot be used: ") as caught:
        extend([point(monkeypatch, name, **attributes)])
    assert reason in str(caught.value)


def test_a_module_that_cannot_be_imported_is_said() -> None:
    with pytest.raises(CorefileError, match="ModuleNotFoundError"):
        extend([EntryPoint("mine", "there.is.none", GROUP)])
