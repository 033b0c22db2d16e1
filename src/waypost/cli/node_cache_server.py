"""The server that `waypost node-cache` starts: it clears the node if its watchdog is killed."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Sequence
from typing import Final

from waypost.cli import node_cache
from waypost.control.files import Source
from waypost.control.output import standard_output
from waypost.control.run import Process, serve
from waypost.control.supervisor import Settings
from waypost.log import Log
from waypost.nodecache.settings import Settings as NodeSettings

_STDIN: Final = 0


def main(words: Sequence[str]) -> int:
    """Serve until a signal or the end of standard input ends it. The words are those of the watchdog."""
    settings = node_cache.read_settings(node_cache.make_parser().parse_args(words))
    threading.Thread(target=_outlive_watchdog, args=(settings,), daemon=True).start()
    return serve(Settings(Source.named(settings.corefile), settings.port), Process(settings.pid_file, settings.quiet))


def _outlive_watchdog(settings: NodeSettings) -> None:
    """Standard input is a pipe whose other end only the watchdog holds: it ends with it, however that happens."""
    while os.read(_STDIN, 512):
        pass
    from waypost.nodecache.node import clear_after_watchdog

    try:
        asyncio.run(clear_after_watchdog(settings, Log(standard_output())))
    except Exception as exc:
        print(f"waypost: {exc}", file=sys.stderr)
    finally:
        os.kill(os.getpid(), signal.SIGTERM)
