"""Certificates from files, and from files that change."""

from __future__ import annotations

import os
import shutil
import ssl
from dataclasses import replace
from pathlib import Path

import pytest

from support.secure import CA, KEYS, TLS
from waypost.corefile.errors import CorefileError
from waypost.dispatch.transports import TlsSettings
from waypost.listeners.certificates import Followed, server_context


def test_modes() -> None:
    modes = {
        "nocert": ssl.CERT_NONE,
        "request": ssl.CERT_NONE,
        "require": ssl.CERT_REQUIRED,
        "verify_if_given": ssl.CERT_OPTIONAL,
        "require_and_verify": ssl.CERT_REQUIRED,
    }
    for name, mode in modes.items():
        settings = replace(TLS, ca=CA, client_auth=name)
        assert server_context(settings).verify_mode == mode
        assert settings.checks_clients == (mode != ssl.CERT_NONE)


def test_what_is_agreed_on() -> None:
    context = server_context(TLS)
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
    assert context.options & ssl.OP_NO_RENEGOTIATION


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        (TlsSettings("/none/a", "/none/b"), "could not load TLS cert: open /none/a: no such file or directory"),
        (replace(TLS, key="/none/b"), "could not load TLS cert: open /none/b: no such file or directory"),
        (replace(TLS, ca="/none/c"), "error reading /none/c: open /none/c: no such file or directory"),
    ],
)
def test_missing_files(settings: TlsSettings, error: str) -> None:
    with pytest.raises(CorefileError) as caught:
        server_context(settings)
    assert str(caught.value) == error


@pytest.mark.parametrize(
    "settings",
    [
        replace(TLS, key=str(KEYS / "other.key")),
        replace(TLS, certificate=str(KEYS / "server.key")),
        replace(TLS, ca=str(KEYS / "server.key"), client_auth="require"),
        replace(TLS, keylog="/none/log"),
    ],
)
def test_files_that_cannot_be_used(settings: TlsSettings) -> None:
    with pytest.raises(CorefileError):
        server_context(settings)


def test_keys_for_nobody_else(tmp_path: Path) -> None:
    name = tmp_path / "keys"
    context = server_context(replace(TLS, keylog=str(name)))
    assert context.keylog_filename == str(name)
    assert name.stat().st_mode & 0o777 == 0o600


class TestFollowed:
    @pytest.fixture
    def files(self, tmp_path: Path) -> TlsSettings:
        for name in ("server.pem", "server.key"):
            shutil.copy(KEYS / name, tmp_path / name)
        return TlsSettings(str(tmp_path / "server.pem"), str(tmp_path / "server.key"))

    def test_the_same_as_long_as_they_are_the_same(self, files: TlsSettings) -> None:
        followed = Followed((files.certificate, files.key, ""), lambda: server_context(files), pytest.fail)
        assert followed.current() is followed.current()

    def test_a_renewed_pair(self, files: TlsSettings) -> None:
        said: list[str] = []
        followed = Followed((files.certificate, files.key), lambda: server_context(files), said.append)
        old = followed.current()
        replace_file(KEYS / "client.pem", files.certificate)
        assert followed.current() is old, "half of the new pair"
        assert followed.current() is old
        assert len(said) == 1
        assert files.certificate in said[0]
        replace_file(KEYS / "client.key", files.key)
        assert followed.current() is not old
        assert len(said) == 1

    def test_files_that_vanish(self, files: TlsSettings) -> None:
        said: list[str] = []
        followed = Followed((files.certificate, files.key), lambda: server_context(files), said.append)
        old = followed.current()
        os.unlink(files.key)
        assert followed.current() is old
        assert len(said) == 1


def replace_file(source: Path, target: str) -> None:
    shutil.copy(source, target + ".new")
    os.replace(target + ".new", target)
