"""A Corefile set up as the server would do it, with nothing started. Heavy: it loads every plugin that is named."""

from __future__ import annotations

import sys

from waypost.control.files import Source
from waypost.control.instance import Instance
from waypost.control.supervisor import Settings, Supervisor
from waypost.corefile.model import Corefile
from waypost.log import Log


def prepare(text: str, name: str) -> tuple[Corefile, Instance]:
    """The Corefile `text`; `name` is for messages, and where relative imports start.

    Warnings go to standard error. Raises CorefileError or OSError.
    """
    supervisor = Supervisor(Settings(Source(name, text)), Log(sys.stderr), lambda code: None)
    corefile, digest = supervisor.read()
    for warning in corefile.warnings:
        supervisor.log.warning(warning)
    return corefile, supervisor.prepare(corefile, digest)
