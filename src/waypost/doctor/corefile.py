"""The Corefile of the DNS pods, judged as `waypost check` judges one that is for another machine."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Final

from waypost.advice.finding import ERROR, WARNING, Finding
from waypost.advice.subject import Block, take_apart
from waypost.control.catalogue import installed
from waypost.control.document import Document, DocumentReader
from waypost.control.examine import examine as examine_document
from waypost.corefile.errors import CorefileError
from waypost.corefile.parser import parse
from waypost.corefile.zones import zones_of_argument
from waypost.diagnosis.facts import Advice, Configuration, NodeText
from waypost.diagnosis.finding import Gap, Maybe
from waypost.diagnosis.mounts import Mounted

_PORT: Final = "53"
_VARIABLE: Final = re.compile(r"\{\$(\w+)\}|\{%(\w+)%\}")


def examine(mounts: Mounted, resolv_conf: Maybe[NodeText]) -> Maybe[Configuration]:
    """Its errors, the advice, and what it says to `kubernetes` and `forward`. `resolv_conf` is that of the DNS pods.

    A Gap if it imports what no ConfigMap holds.
    """
    document = _document(mounts, resolv_conf)
    try:
        found = examine_document(document)
    except CorefileError as error:
        return Configuration(mounts.source, (str(error),))
    errors = tuple(f"{_place(each)}: {each.found}" for each in found if each.severity is ERROR)
    advice = tuple(
        Advice(each.code, _place(each), each.found, each.remedy, each.severity is WARNING)
        for each in found
        if each.severity is not ERROR
    )
    try:
        blocks = _blocks(document)
    except CorefileError as error:
        blocks = ()
        if not errors:
            return Gap(f"{mounts.source}: {error}, in no ConfigMap that the DNS pods mount")
    if not errors and not blocks:
        errors = (f"{mounts.corefile}: no server block",)
    return Configuration(
        mounts.source,
        errors,
        frozenset(name for block in blocks for name in block.directives),
        frozenset(zone for block in blocks for zone in _cluster_zones(block)),
        tuple(word for block in blocks for use in block.uses("forward") for word in use.words[1:]),
        advice,
    )


def _document(mounts: Mounted, resolv_conf: Maybe[NodeText]) -> Document:
    folder = posixpath.dirname(mounts.corefile).rstrip("/") + "/"
    return Document(
        mounts.corefile,
        _with_environment(mounts.files[mounts.corefile], mounts),
        _PORT,
        elsewhere=True,
        beside={
            path.removeprefix(folder): _with_environment(text, mounts)
            for path, text in mounts.files.items()
            if path.startswith(folder)
        },
        resolv_conf=None if isinstance(resolv_conf, Gap) else resolv_conf.text,
    )


def _with_environment(text: str, mounts: Mounted) -> str:
    """The variables of the container, not of this process."""

    def value(match: re.Match[str]) -> str:
        return mounts.env.get(match[1] or match[2], match[0])

    return _VARIABLE.sub(value, text)


def _blocks(document: Document) -> tuple[Block, ...]:
    """Its server blocks. Raises CorefileError if it cannot be parsed."""
    known = installed().order
    corefile = parse(document.text, document.name, env={}, known=known, read=DocumentReader(document))
    return take_apart(corefile, _PORT)


def _cluster_zones(block: Block) -> Iterator[str]:
    """The zones of `kubernetes`, without the final dot; the block's own where it names none."""
    for use in block.uses("kubernetes"):
        named = [zone for word in use.words for zone in zones_of_argument(word)] or block.zones
        for zone in named:
            yield zone.rstrip(".").lower()


def _place(finding: Finding) -> str:
    """File and line as far as they are known."""
    return f"{finding.file}:{finding.line}" if finding.line else finding.file
