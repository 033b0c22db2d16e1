"""CoreDNS's command line: `-conf FILE -dns.port N ...` in Go's flag syntax (`-x v`, `-x=v`, `--x`)."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from waypost.cli.ports import port_number

_VALUE_FLAGS = {
    "conf": 'Corefile to load (default "Corefile"); stdin reads standard input',
    "dns.port": 'Default port (default "53")',
    "p": "Default port, the same as -dns.port",
    "pidfile": "Path to write pid file",
}
_SWITCHES = {
    "plugins": "List installed plugins",
    "quiet": "Quiet mode (no initialization output)",
    "version": "Show version",
}
FLAGS = tuple(
    (name, text, name in _VALUE_FLAGS, name in ("conf", "pidfile"))
    for name, text in {**_VALUE_FLAGS, **_SWITCHES}.items()
)
"""Every flag: name, help, whether it takes a value, and whether that is a file."""
_TRUE = frozenset(("1", "t", "T", "true", "TRUE", "True"))
_FALSE = frozenset(("0", "f", "F", "false", "FALSE", "False"))


class UsageError(Exception):
    """A flag that does not exist or lacks its value."""


@dataclass(frozen=True, slots=True)
class Flags:
    """What the flags say."""

    conf: str = ""
    port: str = "53"
    pidfile: str = ""
    plugins: bool = False
    quiet: bool = False
    version: bool = False
    extra: tuple[str, ...] = ()


def parse(words: Sequence[str]) -> Flags:
    """Read Go-style flags; the last of equal ones wins, the first plain word ends them. Raises UsageError."""
    values: dict[str, str] = {}
    switches: dict[str, bool] = {}
    i = 0
    while i < len(words) and words[i].startswith("-") and len(words[i]) > 1:
        if words[i] == "--":
            i += 1
            break
        name, has_value, value = words[i].lstrip("-").partition("=")
        i += 1
        if name in _SWITCHES:
            switches[name] = _boolean(name, value) if has_value else True
        elif name in _VALUE_FLAGS:
            if not has_value:
                if i >= len(words):
                    raise UsageError(f"flag needs an argument: -{name}")
                value = words[i]
                i += 1
            values["dns.port" if name == "p" else name] = value
        else:
            raise UsageError(f"flag provided but not defined: -{name}")
    return Flags(
        conf=values.get("conf", ""),
        port=values.get("dns.port", "53"),
        pidfile=values.get("pidfile", ""),
        plugins=switches.get("plugins", False),
        quiet=switches.get("quiet", False),
        version=switches.get("version", False),
        extra=tuple(words[i:]),
    )


def main(words: Sequence[str]) -> int:
    """Serve as CoreDNS's binary does."""
    if any(word.lstrip("-") in ("help", "h") for word in words if word.startswith("-")):
        print(usage(), file=sys.stderr, end="")
        return 0
    try:
        flags = parse(words)
        port = port_number(flags.port)
    except UsageError as exc:
        print(f"{exc}\n{usage()}", file=sys.stderr, end="")
        return 2
    except OSError as exc:
        print(exc, file=sys.stderr)
        return 1
    if flags.extra:
        stamp = time.strftime("%Y/%m/%d %H:%M:%S")
        print(f"{stamp} extra command line arguments: [{' '.join(flags.extra)}]", file=sys.stderr)
        return 1
    if flags.version:
        from waypost.cli.version import main as print_version

        return print_version([])
    if flags.plugins:
        from waypost.cli.plugins import names
        from waypost.control.catalogue import installed

        print("\n".join(names(installed())), end="\n\n")
        return 0
    from waypost.control.files import Source  # the whole server: only who serves pays for it
    from waypost.control.run import Process, serve
    from waypost.control.supervisor import Settings

    return serve(Settings(Source.named(flags.conf), port), Process(flags.pidfile, flags.quiet))


def usage() -> str:
    """The flags."""
    flags = {**{f"-{name} string": text for name, text in _VALUE_FLAGS.items()}}
    flags |= {f"-{name}": text for name, text in _SWITCHES.items()}
    return "Usage of waypost:\n" + "".join(f"  {name}\n    \t{text}\n" for name, text in sorted(flags.items()))


def _boolean(name: str, text: str) -> bool:
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise UsageError(f'invalid boolean value "{text}" for -{name}: parse error')
