"""Keeps the Corefile in step with the files it is made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from waypost.log import Log
from waypost.nodecache.failure import SetupError
from waypost.nodecache.inputs import Inputs, make_corefile, read_inputs, write_corefile
from waypost.nodecache.settings import Settings


class CorefileKeeper:
    """Whatever is wrong with new files leaves the Corefile as it is; `failed` is told the kind of each error."""

    def __init__(
        self, settings: Settings, environment: Mapping[str, str], log: Log, failed: Callable[[str], None]
    ) -> None:
        self._settings = settings
        self._environment = environment
        self._log = log
        self._failed = failed
        self._seen: Inputs | None = None
        self._written = ""

    def write_first(self) -> None:
        """Make the Corefile; without what kube-dns's ConfigMap says if that cannot be used. Raises SetupError."""
        inputs = self._seen = read_inputs(self._settings)
        try:
            text = self._make(inputs)
        except SetupError as exc:
            text = self._make(inputs._replace(kube_dns={}))
            self._complain(exc)
        self._write(text)

    def look_again(self) -> bool:
        """Whether the Corefile was changed, because the files have."""
        try:
            inputs = read_inputs(self._settings)
            if inputs == self._seen:
                return False
            self._seen = inputs
            text = self._make(inputs)
            if text == self._written:
                return False
            self._write(text)
        except SetupError as exc:
            self._complain(exc)
            return False
        self._log.info(f"{self._settings.corefile}: written anew, its sources have changed")
        return True

    def _make(self, inputs: Inputs) -> str:
        return make_corefile(inputs, self._settings, self._environment)

    def _write(self, text: str) -> None:
        write_corefile(self._settings.corefile, text)
        self._written = text

    def _complain(self, exc: SetupError) -> None:
        self._failed(exc.kind)
        self._log.once_a_burst(self._log.error, str(exc))
