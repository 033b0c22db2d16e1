"""Advice on words without effect: options that are overruled, that need another one, or that are not read at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from waypost.advice.finding import WARNING, Remark, Rule
from waypost.advice.forwarding import upstreams
from waypost.advice.subject import Option, Subject, Use
from waypost.advice.zones import ROOT, meet
from waypost.corefile.model import Token
from waypost.corefile.zones import zones_of_argument

# Options of which the last one counts. Those that are not here add up.
_LAST_COUNTS: Final[dict[str, frozenset[str]]] = {
    name: frozenset(options.split())
    for name, options in {
        "auto": "directory reload",
        "cache": "success denial prefetch serve_stale serve_stale_policy servfail",
        "dns64": "prefix",
        "dnssec": "cache_capacity",
        "etcd": "path fallthrough",
        "file": "reload fallthrough",
        "forward": "expire max_age max_idle_conns max_fails max_concurrent max_connect_attempts read_timeout tls"
        " tls_servername policy health_check source_address resolver doh_method",
        "grpc": "tls tls_servername policy",
        "health": "lameduck",
        "hosts": "ttl reload fallthrough",
        "k8s_external": "apex ttl fallthrough",
        "kubernetes": "endpoint tls kubeconfig labels namespace_labels pods ttl startup_timeout fallthrough"
        " multicluster apiserver_qps apiserver_burst apiserver_max_inflight snapshot",
        "loadbalance": "reload",
        "ready": "monitor",
        "template": "rcode ederror fallthrough",
        "timeouts": "read write idle maxtcpqueries",
        "waypost": "admin ready_max_age max_udp_size",
    }.items()
}
# Directives that may stand twice in a block: of these the last one counts.
_LAST_USE_COUNTS: Final = ("health", "tls")

Reason = Callable[[Use, Option], str]
"""Why an option does nothing; empty if it does something."""


def overruled(subject: Subject) -> Iterator[Remark]:
    """A line that a later one replaces."""
    for block in subject.blocks:
        for name, use in block.everything:
            counting: dict[str, Token] = {}
            for option in reversed(use.options):
                key = _key(name, option)
                if key in counting:
                    yield Remark(option.name, f"`{key}` is set again in line {counting[key].line}, which counts")
                elif key:
                    counting[key] = option.name
        for name in _LAST_USE_COUNTS:
            for use in block.uses(name)[:-1]:
                yield Remark(use.name, f"`{name}` stands again in line {block.uses(name)[-1].name.line}, which counts")


def _key(name: str, option: Option) -> str:
    """What a line sets; empty for lines that add up."""
    text = option.name.text
    if name == "cache" and text == "disable":
        return f"disable {''.join(option.words[:1])}"
    return text if text in _LAST_COUNTS.get(name, ()) else ""


def idle(subject: Subject) -> Iterator[Remark]:
    """An option that does nothing as things stand."""
    for block in subject.blocks:
        for name, use in block.everything:
            for option in use.options:
                reason = _IDLE.get((name, option.name.text))
                if reason is not None and (text := reason(use, option)):
                    yield Remark(option.name, text)
        for use in block.uses("dns64"):
            if use.args and use.options:
                yield Remark(use.options[0].name, "CoreDNS does not read the block of `dns64` behind a prefix")


def log_format_as_name(subject: Subject) -> Iterator[Remark]:
    """The first argument is a name, whatever it looks like."""
    for _, use in subject.uses("log"):
        if len(use.args) == 1 and "{" in use.args[0].text:
            yield Remark(use.args[0], f"'{use.args[0].text}' is read as a name: nothing is logged")


def detached_brace(subject: Subject) -> Iterator[Remark]:
    """A block that opens on the next line is none."""
    for block in subject.blocks:
        for name, use in block.everything:
            if use.name.text == "{":
                yield Remark(use.name, f"a brace on a line of its own opens no block of `{name}`")


def _without(option: str, text: str) -> Reason:
    return lambda use, _: "" if use.has(option) else text


def _besides(option: str, text: str) -> Reason:
    return lambda use, _: text if use.has(option) else ""


def _zero(text: str) -> Reason:
    return lambda _, option: text if option.words[:1] in (("0",), ("0s",)) else ""


def _always(text: str) -> Reason:
    return lambda _, __: text


def _kubernetes_tls(use: Use, _: Option) -> str:
    if use.has("kubeconfig"):
        return "`kubeconfig` counts, `tls` does not"
    return "" if use.has("endpoint") else "`tls` is for an `endpoint`, and there is none"


def _schemes(use: Use) -> set[str]:
    return {word.partition("://")[0] for word in use.words[1:] if "://" in word}


def _needs_scheme(*schemes: str) -> Reason:
    text = f"no upstream begins with {' or '.join(f'{scheme}://' for scheme in schemes)}"
    return lambda use, _: "" if _schemes(use) & set(schemes) else text


def _except(use: Use, option: Option) -> str:
    origin = zones_of_argument(use.words[0])[:1] if use.args else []
    for word in option.words:
        zones = zones_of_argument(word)
        if origin and zones and origin != [ROOT] and not any(meet(zone, origin[0]) for zone in zones):
            return f"{word} is not below {use.words[0]}: there is nothing to except"
    return ""


def _resolver(use: Use, _: Option) -> str:
    addresses = {upstream.token for upstream in upstreams(use)}
    named = any(token not in addresses and "/" not in token.text.partition("://")[2] for token in use.args[1:])
    return "" if named else "every upstream is an address: there is no name to look up"


_IDLE: Final[dict[tuple[str, str], Reason]] = {
    ("cache", "prefetch"): _zero("`prefetch 0` prefetches nothing"),
    ("cache", "serve_stale"): _zero("`serve_stale 0` serves nothing stale"),
    ("cache", "serve_stale_policy"): _without("serve_stale", "there is no `serve_stale` whose policy it could be"),
    ("forward", "prefer_udp"): _besides("force_tcp", "`force_tcp` counts, `prefer_udp` does not"),
    ("forward", "tls"): _needs_scheme("tls", "https", "quic"),
    ("forward", "tls_servername"): _needs_scheme("tls", "https", "quic"),
    ("forward", "doh_method"): _needs_scheme("https"),
    ("forward", "except"): _except,
    ("forward", "resolver"): _resolver,
    ("health", "lameduck"): _zero("a lameduck of 0 waits for nothing"),
    ("kubernetes", "endpoint"): _besides("kubeconfig", "`kubeconfig` counts, `endpoint` does not"),
    ("kubernetes", "tls"): _kubernetes_tls,
    ("kubernetes", "endpoint_pod_names"): _besides("noendpoints", "with `noendpoints` there are no endpoints to name"),
    ("template", "upstream"): _always("`upstream` of `template` is taken and has no effect"),
}


RULES: Final = (
    Rule(
        "W401", WARNING, "a line that a later one overrules",
        "Only the last one counts.",
        "Delete the line that is not meant.",
        overruled,
    ),
    Rule(
        "W402", WARNING, "an option that does nothing",
        "It needs something else that is not there, or something else counts.",
        "Delete it, or add what it needs.",
        idle,
    ),
    Rule(
        "W407", WARNING, "a format of `log` where a name is expected",
        "The first argument is always a name.",
        "Write `log . FORMAT`.",
        log_format_as_name,
    ),
    Rule(
        "W408", WARNING, "a brace on a line of its own behind a directive",
        "The lines in it are read as further occurrences of the directive.",
        "Put the `{` at the end of the directive's line.",
        detached_brace,
    ),
)  # fmt: skip
