"""`waypost node-cache`: a cache on every node, and the watch over it, with the flags of NodeLocal DNSCache."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from waypost.nodecache.settings import Settings

_EPILOG: Final = """\
Flags may have one dash or two, and take their values after a space or '='.

exit code: that of the server; 1 a flag, the template or the node cannot be used, 2 wrong usage

examples:
  waypost node-cache -localip 169.254.20.10,10.96.0.10 -conf /run/waypost/Corefile -upstreamsvc kube-dns-upstream
  waypost node-cache -localip 169.254.20.10 -conf /run/waypost/Corefile -rules iptables
  waypost node-cache -localip 169.254.20.10 -conf Corefile -basecorefile Corefile.base -setupinterface=false \\
      -setupiptables=false
"""
_TRUTH: Final = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


def main(words: Sequence[str]) -> int:
    """Run until a signal ends it. With `server` as first word: be the server that such a process starts."""
    if words[:1] == ["server"]:
        from waypost.cli import node_cache_server

        return node_cache_server.main(words[1:])
    options = make_parser().parse_args(words)
    import asyncio

    from waypost.control.output import standard_output
    from waypost.corefile.errors import CorefileError
    from waypost.log import Log
    from waypost.nodecache.failure import SetupError
    from waypost.nodecache.run import run
    from waypost.nodecache.settings import SettingsError

    try:
        settings = read_settings(options)
        _require_packages(settings)
        return asyncio.run(run(settings, [*words, f"-pidfile={settings.pid_file}"], os.environ, Log(standard_output())))
    except SettingsError as exc:
        print(f"Error parsing flags - {exc}, Exiting", file=sys.stderr)
    except (SetupError, CorefileError, OSError) as exc:
        print(f"waypost: {exc}", file=sys.stderr)
    return 1


def read_settings(options: argparse.Namespace) -> Settings:
    """What the words say. Raises SettingsError."""
    from waypost.nodecache.settings import Settings, parse_local_ips, parse_port, parse_sync_interval

    corefile = options.conf or options.corefile
    return Settings(
        local_ips=parse_local_ips(options.localip),
        corefile=corefile,
        base_corefile=options.basecorefile,
        upstream_service=options.upstreamsvc,
        kube_dns_folder=options.kubednscm,
        interface=options.interfacename,
        interface_kind=options.interfacekind,
        sets_up_interface=options.setupinterface,
        sets_up_rules=options.setupiptables,
        rules=options.rules,
        sync_interval=parse_sync_interval(options.syncinterval),
        skips_teardown=options.skipteardown,
        port=parse_port(options.port),
        health_port=parse_port(options.health_port, "healthcheck port"),
        metrics_address=options.metrics_listen_address,
        reloads_with_signal=options.reloadwithsignal,
        hang_timeout=options.hangtimeout,
        ready_file=options.readyfile,
        pid_file=options.pidfile or f"{corefile}.pid",
        quiet=options.quiet,
    )


def _require_packages(settings: Settings) -> None:
    """Raises CorefileError, which names the extra."""
    from waypost.toolkit.extras import require

    if settings.sets_up_interface or (settings.sets_up_rules and settings.rules != "iptables"):
        require("pyroute2", "nodecache", "node-cache")


def make_parser() -> argparse.ArgumentParser:
    """The words of the command."""
    parser = argparse.ArgumentParser(
        prog="waypost node-cache",
        description="Serve DNS on addresses of this node's own, and lead its packets there as long as that answers.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_addresses(parser)
    _add_files(parser)
    _add_own(parser.add_argument_group("not of NodeLocal DNSCache"))
    return parser


def _add_addresses(parser: argparse.ArgumentParser) -> None:
    _add(parser, "localip", "", "ADDR[,ADDR]", "addresses to serve, all of one family; that of the node itself first")
    _add(parser, "dns.port", "53", "PORT", "port to serve", "p", dest="port")
    _add(parser, "health-port", "8080", "PORT", "port of the template's health, for the rules")
    _add(parser, "metrics-listen-address", "0.0.0.0:9353", "ADDR", "for the metrics of the watch", type=_address)
    _switch(parser, "setupinterface", True, "make the interface with these addresses")
    _add(parser, "interfacename", "nodelocaldns", "NAME", "its name", type=_interface_name)
    _switch(parser, "setupiptables", True, "make the rules that lead packets past conntrack to these addresses")
    _add(parser, "syncinterval", "60s", "TIME", "after what time rules of iptables are looked at again")
    _switch(parser, "skipteardown", False, "leave interface and rules of iptables when ending")


def _add_files(parser: argparse.ArgumentParser) -> None:
    _add(parser, "conf", "", "FILE", "Corefile to write and to serve")
    _add(parser, "corefile", "/etc/Corefile", "FILE", "the same, where there is no -conf")
    _add(parser, "basecorefile", "/etc/coredns/Corefile.base", "FILE", "template of the Corefile")
    _add(parser, "upstreamsvc", "kube-dns", "NAME", "Service whose address __PILLAR__CLUSTER__DNS__ stands for")
    _add(parser, "kubednscm", "", "FOLDER", "kube-dns's ConfigMap as files", shown="/etc/kube-dns, if it is there")
    _add(parser, "pidfile", "", "FILE", "for the number of the server's process", shown="beside the Corefile")
    _switch(parser, "reloadwithsignal", False, "let the server read a changed Corefile at once, by a signal")
    _switch(parser, "quiet", False, "no banner")


def _add_own(group: Any) -> None:
    _add(group, "rules", "auto", None, "who holds the rules", choices=("auto", "nftables", "iptables"))
    _add(group, "interfacekind", "dummy", "KIND", "kind of the interface, as `ip link add type` takes it")
    _add(
        group, "hangtimeout", 30.0, "SECONDS", "kill and restart a server that is silent for so long; 0: never",
        type=_seconds, shown="30",
    )  # fmt: skip
    _add(group, "readyfile", "", "FILE", "is there while the server answers", shown="none")


def _add(
    group: Any, name: str, default: Any, metavar: str | None, text: str, *others: str, shown: str = "", **more: Any
) -> None:
    names = [dash + each for each in (name, *others) for dash in ("-", "--")]
    shown = shown or str(default)
    text = f"{text} (default: {shown})" if shown else text
    group.add_argument(*names, default=default, metavar=metavar, help=text, **more)


def _switch(group: Any, name: str, default: bool, text: str) -> None:
    _add(
        group, name, default, "true|false", text, nargs="?", const=True, type=_truth, shown=str(default).lower()
    )  # fmt: skip


def _truth(text: str) -> bool:
    if text not in _TRUTH:
        raise argparse.ArgumentTypeError(f"expected true or false, got '{text}'")
    return _TRUTH[text]


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < 1e6:
        raise argparse.ArgumentTypeError(f"expected seconds, got '{text}'")
    return seconds


def _interface_name(text: str) -> str:
    """As the kernel takes it: at most 15 bytes, no blank and no slash."""
    if not 0 < len(text.encode(errors="replace")) <= 15 or "/" in text or text in (".", "..") or not text.isprintable():
        raise argparse.ArgumentTypeError(f"expected the name of an interface, at most 15 bytes long, got '{text}'")
    if " " in text:
        raise argparse.ArgumentTypeError(f"expected a name without blanks, got '{text}'")
    return text


def _address(text: str) -> str:
    from waypost.httpd.server import check_address

    try:
        return check_address(text)
    except ValueError as exc:
        raise argparse.ArgumentTypeError(f"expected HOST:PORT: {exc}") from None
