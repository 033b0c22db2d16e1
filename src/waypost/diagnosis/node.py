"""The node's resolv.conf, from which DNS pods and pods of the host network get their resolvers."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address
from typing import Final

from waypost.diagnosis.facts import Facts, NodeText
from waypost.diagnosis.finding import Gap, Outcome, counted, failure, known, ok, warning
from waypost.diagnosis.kubelets import DEFAULT_RESOLV_CONF
from waypost.podside.nodefile import Lists, NodeFile, NodeFileError, option_name, parse, read_node_file
from waypost.podside.policy import MAX_NAMESERVERS, Kubelet
from waypost.podside.resolvconf import check_node_file

_MANY_DOTS: Final = 5
_FATAL_IN_MUSL: Final = frozenset(("attempts:0", "timeout:0"))


def judge_file(facts: Facts) -> Iterator[Outcome]:
    """It can be read, and names a resolver."""
    file = known(facts.node_files().resolv_conf)
    try:
        lists = read_node_file(file.path, NodeFile(file.content))
    except NodeFileError as error:
        yield failure(
            "the kubelet cannot read the node's resolv.conf: no pod starts here",
            f"{file.path}: {error.reason}",
            remedy="correct the file, or name another as resolvConf in the kubelet's configuration",
        )
        return
    line = f"{file.path}: nameserver {' '.join(lists.nameservers) or '(none)'}"
    if lists.nameservers:
        yield ok("the node's resolv.conf names resolvers", line)
    else:
        yield failure(
            "the node's resolv.conf names no resolver: DNS pods have no upstream there",
            line,
            remedy="name one, or write the upstreams' addresses into the Corefile",
        )


def judge_loopback(facts: Facts) -> Iterator[Outcome]:
    """A loopback address means the pod itself, inside a pod."""
    file, lists = _read(facts)
    found = [text for text in lists.nameservers if _is_loopback(text)]
    if not found:
        yield ok("no resolver of the node is a loopback address", file.path)
        return
    evidence = [f"{file.path}: nameserver {text}" for text in found]
    configuration = facts.configuration
    if not isinstance(configuration, Gap) and not configuration.errors:
        if not any(upstream.startswith("/") for upstream in configuration.upstreams):
            yield warning(
                "pods with dnsPolicy Default ask their own loopback address",
                *evidence,
                remedy=_loopback_remedy(facts),
            )
            return
        evidence.append(f"{configuration.source}: forward to {', '.join(configuration.upstreams)}")
    yield failure(
        "DNS pods that forward to their resolv.conf would ask themselves, in a loop",
        *evidence,
        remedy=_loopback_remedy(facts),
    )


def judge_nameservers(facts: Facts) -> Iterator[Outcome]:
    """No resolver looks at more than three."""
    file, lists = _read(facts)
    count = len(lists.nameservers)
    line = f"{file.path}: nameserver {' '.join(lists.nameservers)}"
    if count > MAX_NAMESERVERS:
        yield warning(
            f"the node has {count} resolvers, and only the first {MAX_NAMESERVERS} are used",
            line,
            remedy=f"leave {MAX_NAMESERVERS}; the kubelet warns of it for each pod that inherits them",
        )
    else:
        yield ok(f"the node has {counted(count, 'resolver')}", line)


def judge_search(facts: Facts) -> Iterator[Outcome]:
    """The search list has to fit beside the cluster's, and holds nothing that was meant as a comment."""
    file, lists = _read(facts)
    node = facts.node_files()
    kubelet = Kubelet() if isinstance(node.kubelet, Gap) else node.kubelet
    if not kubelet.cluster_domain:
        kubelet = Kubelet(kubelet.cluster_dns, "cluster.local", kubelet.resolv_conf or DEFAULT_RESOLV_CONF)
    sick = False
    for event in check_node_file(kubelet, NodeFile(file.content)):
        sick = True
        yield warning(
            "the node's search list is too long for pods",
            f"{file.path}: {event.message}",
            remedy="shorten the search line",
        )
    if (comment := next((each for each in lists.searches if each.startswith(("#", ";"))), None)) is not None:
        sick = True
        yield warning(
            "a comment at the end of the search line becomes search domains",
            f"{file.path}: search {' '.join(lists.searches)}",
            remedy=f"remove {comment!r} and what follows",
        )
    if any(line.split()[:1] == ["domain"] for line in file.text.splitlines()):
        sick = True
        yield warning(
            "the kubelet ignores `domain`: pods do not search it",
            f"{file.path}: domain",
            remedy="use `search`",
        )
    if not sick:
        yield ok(
            counted(len(lists.searches), "search domain"), f"{file.path}: search {' '.join(lists.searches) or '(none)'}"
        )


def judge_options(facts: Facts) -> Iterator[Outcome]:
    """Options go to pods with dnsPolicy Default and to those of the host network."""
    file, lists = _read(facts)
    sick = False
    for option in lists.options:
        if option in _FATAL_IN_MUSL:
            sick = True
            yield warning(
                f"option {option} makes programs with musl crash",
                f"{file.path}: options {option}",
                remedy="use 1 or more",
            )
        value = option.partition(":")[2]
        if option_name(option) == "ndots" and value.isascii() and value.isdigit() and int(value[:3]) >= _MANY_DOTS:
            sick = True
            yield warning(
                f"{option} on the node: its own lookups walk the search list first",
                f"{file.path}: options {option}",
                remedy="leave ndots at 1 on nodes; pods with cluster DNS get ndots:5 in any case",
            )
    if not sick:
        yield ok(
            "the node's resolver options do no harm", f"{file.path}: options {' '.join(lists.options) or '(none)'}"
        )


def _read(facts: Facts) -> tuple[NodeText, Lists]:
    """Raises Unknown; a file that cannot be parsed is the first check's affair and has no lists."""
    file = known(facts.node_files().resolv_conf)
    try:
        return file, parse(file.text)
    except NodeFileError:
        return file, Lists()


def _is_loopback(text: str) -> bool:
    try:
        return ip_address(text.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _loopback_remedy(facts: Facts) -> str:
    uplinks = facts.node_files().resolved_uplinks
    where = "a file with the real resolvers" if isinstance(uplinks, Gap) else uplinks.path
    return f"set resolvConf: {where} in the kubelet's configuration, restart it, and make the DNS pods anew"
