"""shed in the real process: the answers and metrics of a server that keeps up, and over reloads."""

from __future__ import annotations

import re
import signal
from pathlib import Path

from support.load import Load
from support.process import free_port, get, serving

COREFILE = """\
.:{port} {{
    {shed}
    prometheus 127.0.0.1:{metrics}
    whoami
}}
"""


def test_a_server_under_load_sheds_nothing_that_it_can_send(tmp_path: Path) -> None:
    port, metrics = free_port(), free_port()
    with serving(tmp_path, COREFILE.format(port=port, metrics=metrics, shed="shed"), port) as process:
        with Load(port) as load:
            for n, shed in enumerate(("", "shed", "shed")):
                (tmp_path / "Corefile").write_text(COREFILE.format(port=port, metrics=metrics, shed=shed))
                process.kill(signal.SIGUSR1)
                process.says("Reloading complete", n + 1)
        load.check(1)
        found = re.findall(r'^coredns_shed_dropped_total\{reason="(\w+)",server="dns://:\d+"\} (\S+)$',
                           get(metrics, "/metrics"), re.MULTILINE)  # fmt: skip
        assert sorted(found) == [("query", "0"), ("response", "0")]
        assert process.stop() == 0
