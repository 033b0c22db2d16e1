"""The single steps of `migration.history`: each reads the blocks and says what to change in the text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from waypost.migration.edits import Edits
from waypost.migration.structure import Block, Statement

_FORWARDING: Final = ("forward", "proxy")
_STEP: Final = "    "
_DEFAULT_PORT: Final = "53"
_POLICIES: Final = ("random", "round_robin")


class Notice(NamedTuple):
    """What was done, or could not be; `line` is where, 0 for nowhere in particular."""

    line: int
    text: str


@dataclass(slots=True)
class Draft:
    """A Corefile under change: its blocks as they stand, the edits to come, and what there is to say."""

    blocks: list[Block]
    edits: Edits
    notices: list[Notice] = field(default_factory=list)

    def note(self, statement: Statement | Block, text: str) -> None:
        """Say something about a place."""
        self.notices.append(Notice(statement.first, text))

    def each(self, name: str) -> list[tuple[Block, Statement]]:
        """Every directive of a name, in snippets too."""
        return [(block, each) for block in self.blocks for each in block.directives(name)]

    def add_directive(self, block: Block, text: str) -> None:
        """At the end of a block."""
        line = block.last - 1 if block.braced else block.last
        shown = [each for each in block.body if each.words]
        self.edits.put_after(line, [" " * (shown[-1].indent if shown else len(_STEP)) + text])


def add_loop(draft: Draft) -> None:
    """A loop of forwarding is found at the start, instead of when the memory is full."""
    for block in _servers(draft):
        if any(block.directives(name) for name in _FORWARDING) and not _has(draft, block, "loop"):
            draft.add_directive(block, "loop")
            draft.note(block, "added: loop")


def add_ready(draft: Draft) -> None:
    """Readiness probes ask it."""
    for block in _servers(draft):
        if block.directives("kubernetes") and not _has(draft, block, "ready"):
            draft.add_directive(block, "ready")
            draft.note(block, "added: ready")


def add_lameduck(draft: Draft) -> None:
    """A server that is to end answers until everybody has heard of it."""
    for _, health in draft.each("health"):
        if not health.has("lameduck"):
            draft.edits.add_option(health, "lameduck 5s")
            draft.note(health, "health: added lameduck 5s")


def add_max_concurrent(draft: Draft) -> None:
    """Bounds what a silent upstream can hold up."""
    for _, forward in draft.each("forward"):
        if not forward.has("max_concurrent"):
            draft.edits.add_option(forward, "max_concurrent 1000")
            draft.note(forward, "forward: added max_concurrent 1000")


def keep_first_endpoint(draft: Draft) -> None:
    """Only the first API server was ever asked since."""
    for _, kubernetes in draft.each("kubernetes"):
        for option in kubernetes.options("endpoint"):
            for word in option.arguments[1:]:
                draft.edits.replace(word, "")
            if len(option.arguments) > 1:
                draft.note(option, f"kubernetes: endpoint takes one address, {option.arguments[0].text} stays")


def remove_upstream(draft: Draft) -> None:
    """Names outside the cluster are resolved by the server itself."""
    _remove_options(draft, "kubernetes", "upstream")


def remove_resyncperiod(draft: Draft) -> None:
    """Nothing is resynchronised: a watch tells of every change."""
    _remove_options(draft, "kubernetes", "resyncperiod")


def remove_federation(draft: Draft) -> None:
    """Cluster federation is gone from Kubernetes."""
    for _, federation in draft.each("federation"):
        draft.edits.remove(federation)
        draft.note(federation, "removed: federation, which Kubernetes no longer has")


def move_transfer(draft: Draft) -> None:
    """Zone transfers have a directive of their own, for every plugin with a zone."""
    for block, kubernetes in draft.each("kubernetes"):
        moved = list(kubernetes.options("transfer"))
        targets = [word.raw for option in moved for word in option.arguments if word.text != "to"]
        if not moved:
            continue
        draft.edits.remove_option(kubernetes, moved)
        zone = kubernetes.arguments[0].raw if kubernetes.arguments else _zone(block)
        if targets and not block.directives("transfer"):
            inner = f"\n{_STEP}{_STEP}to {' '.join(targets)}\n{_STEP}}}"
            draft.add_directive(block, f"transfer {zone} {{{inner}")
        draft.note(moved[0], f"kubernetes: transfer is a directive of its own: transfer {zone}")


def proxy_to_forward(draft: Draft) -> None:
    """The directive's successor; options without one are dropped."""
    for _, proxy in draft.each("proxy"):
        draft.edits.replace(proxy.words[0], "forward")
        draft.note(proxy, "renamed: proxy to forward")
        dropped = []
        for option in (each for each in proxy.inner if each.words):
            words = [word.text for word in option.arguments]
            if option.name == "protocol" and words[:2] == ["dns", "force_tcp"]:
                draft.edits.replace(option.words[0], "force_tcp")
                for word in option.arguments:
                    draft.edits.replace(word, "")
            elif not (option.name == "except" or (option.name == "policy" and words[:1] and words[0] in _POLICIES)):
                dropped.append(option)
                draft.note(option, f"forward: dropped {' '.join([option.name, *words])}, which it does not have")
        if dropped:
            draft.edits.remove_option(proxy, dropped)


def split_proxy(draft: Draft) -> None:
    """Of several proxies the one with the longest zone was asked, of several forwards the first: give each a block."""
    for block, proxy in draft.each("proxy"):
        zone = proxy.arguments[0].text if proxy.arguments else "."
        if zone == "." or block.is_snippet:
            continue
        if not block.is_root:
            draft.note(proxy, f"proxy {zone} stays in a block that serves more than one zone, or another: look at it")
            continue
        options = [f"{_STEP}{_STEP}{' '.join(word.raw for word in each.words)}" for each in proxy.inner if each.words]
        head = " ".join(["proxy", ".", *(word.raw for word in proxy.arguments[1:])])
        body = [f"{_STEP}{head} {{", *options, f"{_STEP}}}"] if options else [_STEP + head]
        lines = ["", f"{zone.removesuffix('.')}:{_port(block)} {{", f"{_STEP}errors", f"{_STEP}cache 30", *body]
        draft.edits.remove(proxy)
        draft.edits.put_after(max(each.last for each in draft.blocks), [*lines, f"{_STEP}loop", "}"])
        draft.note(proxy, f"proxy {zone} is a server block of its own now")


def _remove_options(draft: Draft, directive: str, name: str) -> None:
    for _, found in draft.each(directive):
        options = list(found.options(name))
        if options:
            draft.edits.remove_option(found, options)
            draft.note(options[0], f"{directive}: dropped {name}")


def _servers(draft: Draft) -> list[Block]:
    return [block for block in draft.blocks if not block.is_snippet]


def _has(draft: Draft, block: Block, name: str) -> bool:
    """Whether the block has the directive, by itself or by a snippet that it imports."""
    imported = {word.text for each in block.directives("import") for word in each.arguments[:1]}
    snippets = [each for each in draft.blocks if each.is_snippet and each.labels[0][1:-1] in imported]
    return any(each.directives(name) for each in (block, *snippets))


def _zone(block: Block) -> str:
    """The zone of a block's first label."""
    return block.labels[0].rpartition("://")[2].partition(":")[0] if block.labels else "."


def _port(block: Block) -> str:
    return block.labels[0].rpartition(":")[2] if ":" in block.labels[0] else _DEFAULT_PORT
