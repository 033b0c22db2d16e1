"""One server block while plugins set it up and while it serves: zones, listen addresses, chain, hooks.

A plugin's `setup` may read files and register hooks; sockets and API connections are opened by start hooks only, so a
configuration can be checked without either.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

from waypost.corefile.zones import ZoneAddress
from waypost.dispatch.handler import Gated, Handler, link
from waypost.dispatch.proxying import ProxyPolicy
from waypost.dispatch.request import Request
from waypost.dispatch.timeouts import Timeouts
from waypost.dispatch.transports import Limits, TlsSettings
from waypost.log import Log
from waypost.metrics.registry import Registry
from waypost.wire import names

if TYPE_CHECKING:
    from waypost.dispatch.serve import Server

T = TypeVar("T")
Hook = Callable[[], Awaitable[None] | None]


@dataclass(frozen=True, slots=True)
class Placed:
    """A hook that has its part to do in the process that answers no query, too, or (`alone`) only there."""

    hook: Hook
    alone: bool

    def __call__(self) -> Awaitable[None] | None:
        """Run it."""
        return self.hook()


def everywhere(hook: Hook) -> Hook:
    """For what workers do as well as the supervisor above them: an HTTP endpoint, the state of a cluster."""
    return Placed(hook, alone=False)


def once(hook: Hook) -> Hook:
    """For what must be done once, however many processes answer queries: running a command, writing a file."""
    return Placed(hook, alone=True)


class Lender(Protocol):
    """What survives a reload: equal keys give the same object to the old and the new configuration."""

    def lend(self, key: Hashable, make: Callable[[], T]) -> T:
        """The object under this key, made if nobody holds one. It is closed (`close`) when its last holder stops."""
        ...


@dataclass(slots=True)
class Hooks:
    """What to run around a configuration's life, in order of registration.

    `start` may fail and then nothing of the new configuration goes live; `active` runs once it serves; `final` runs
    at the end of the process only, while DNS is still served (lameduck); `stop` when the configuration is replaced
    or ends. With several processes a hook runs in each that answers queries, unless `everywhere` or `once` says else;
    `final` hooks run once.
    """

    start: list[Hook] = field(default_factory=list)
    active: list[Hook] = field(default_factory=list)
    final: list[Hook] = field(default_factory=list)
    stop: list[Hook] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ConfigurationFacts:
    """Which configuration this is: SHA-512 of its token tree, absolute names of its files, when it was loaded.

    `loaded` is in seconds since 1970. The built-in configuration has no files.
    """

    digest: str = ""
    files: tuple[str, ...] = ()
    loaded: float = 0.0


@dataclass(slots=True)
class Services:
    """What the process lends to every plugin."""

    log: Log
    metrics: Registry
    lender: Lender
    hooks: Hooks
    exit: Callable[[int], None]
    """Ask the process to end with this code (loop)."""
    watch_configuration: Callable[[float, float], None]
    """Look for a changed Corefile every so many seconds, give or take half of the second value (reload)."""
    manifests: tuple[str, ...] = ()
    """Manifest files or folders given on the command line: the cluster of blocks that name no other source."""
    kubeconfig: tuple[str, str] = ("", "")
    """A kubeconfig and the context in it (empty: the current one) for such blocks, if there are no manifests."""
    configuration: ConfigurationFacts = ConfigurationFacts()


@dataclass(slots=True)
class Site:
    """One server block. `addresses` are its labels; `zones` their names in wire form, lower case, in file order."""

    addresses: tuple[ZoneAddress, ...]
    services: Services
    log: Log
    zones: tuple[bytes, ...] = ()
    words: tuple[tuple[str, ...], ...] = ()
    """The words of the directives that shape answers: equal ones mean that old answers are still right."""
    bind: list[str] = field(default_factory=list)
    root: str = ""
    debug: bool = False
    stacktrace: bool = False
    timeouts: Timeouts | None = None
    tls: TlsSettings | None = None
    limits: dict[str, Limits] = field(default_factory=dict)
    """By scheme: those of listeners that carry many queries a connection."""
    sockets: int = 1
    """How many sockets each listen address has; the first block there decides."""
    max_udp_size: int = 65535
    """The largest datagram in bytes that a client may ask for by EDNS; a listener takes the smallest of its blocks."""
    proxying: ProxyPolicy | None = None
    """Whose PROXY headers are heard; a listener takes the last of its blocks that says so."""
    sheds: bool = False
    """Drop what a UDP socket cannot keep up with, the oldest first; one block of a listener is enough."""
    view: str = ""
    filters: list[Callable[[Request], bool]] = field(default_factory=list)
    collect: Callable[[Request], None] | None = None
    """Set by `metadata`: fills `request.metadata` before the filters run."""
    handlers: dict[str, list[Handler]] = field(default_factory=dict)
    """Handlers by directive, in chain order; a directive may add several."""
    peers: list[Site] = field(default_factory=list)
    """Every block of the configuration, this one included, in file order."""
    servers: list[Server] = field(default_factory=list)
    """The listen addresses where the block answers, once the configuration is built."""
    chain: Handler | None = None
    vouchers: tuple[Handler, ...] = ()
    """Whose steady replies may be given again (see `dispatch.memo`)."""
    cuts: frozenset[bytes] = frozenset()
    """Zones, lower case, that make a difference to a handler of the chain's beginning (see `dispatch.siblings`)."""
    senders: tuple[Handler, ...] = ()
    """Whose queries may go ahead (see `dispatch.ahead`), for names outside of `occupied`, if all `gated` admit them."""
    occupied: tuple[bytes, ...] = ()
    gated: tuple[Gated, ...] = ()
    keeps: bool = False
    """There may be something for a memo."""

    def __post_init__(self) -> None:
        self.zones = tuple(names.from_text(address.zone) for address in self.addresses)

    @property
    def title(self) -> str:
        """The block's labels as they are understood, `example.org.:53 tls://.:853`."""
        return " ".join(f"{f'{a.scheme}://' if a.scheme != 'dns' else ''}{a.zone}:{a.port}" for a in self.addresses)

    @property
    def hooks(self) -> Hooks:
        """The configuration's hooks."""
        return self.services.hooks

    @property
    def metrics(self) -> Registry:
        """The process's metric registry."""
        return self.services.metrics

    def add(self, handler: Handler) -> None:
        """Put a handler into the chain, behind those of directives that come earlier in the order."""
        self.handlers.setdefault(handler.name, []).append(handler)

    def all_handlers(self) -> list[Handler]:
        """Every handler in chain order."""
        return [handler for group in self.handlers.values() for handler in group]

    def link(self) -> None:
        """Make the chain once every plugin is set up; a block without handlers has none."""
        handlers = self.all_handlers()
        self.chain = link(handlers) if handlers else None
        opaque = (n for n, handler in enumerate(handlers) if not getattr(handler, "transparent", False))
        reached = handlers[: next(opaque, len(handlers)) + 1]
        self.vouchers = tuple(handler for handler in reached if getattr(handler, "vouches", False))
        self.cuts = frozenset(self.zones).union(*map(_cuts, reached))
        self._link_senders(handlers)
        self.keeps = bool(self.vouchers or self.senders)

    def _link_senders(self, handlers: Sequence[Handler]) -> None:
        senders: list[Handler] = []
        gated: list[Gated] = []
        occupied: set[bytes] = set()
        for handler in handlers:
            if getattr(handler, "sends_ahead", False):
                senders.append(handler)
            elif getattr(handler, "confined", False):
                occupied |= _cuts(handler)
            elif isinstance(handler, Gated):
                gated.append(handler)
            elif getattr(handler, "vouches", False) or not getattr(handler, "transparent", False):
                break
            self.cuts |= _cuts(handler)
        self.senders, self.occupied, self.gated = tuple(senders), tuple(occupied), tuple(gated)

    def accepts(self, request: Request) -> bool:
        """True if every view filter passes."""
        return all(test(request) for test in self.filters)

    def path(self, name: str) -> str:
        """A file name from the Corefile, relative ones below `root`."""
        return name if name.startswith("/") or not self.root else f"{self.root.rstrip('/')}/{name}"


def _cuts(handler: Handler) -> frozenset[bytes]:
    return frozenset(getattr(handler, "cuts", ()))
