"""kube.auth, kube.execplugin and kube.tls: what a request is sent with, and when that is looked at again."""

from __future__ import annotations

import json
import os
import ssl
import stat
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from waypost.kube import execplugin
from waypost.kube.auth import Credentials
from waypost.kube.config import ClusterAccess, ExecSpec
from waypost.kube.errors import ClusterError
from waypost.kube.tls import TlsContexts, client_context, private_file

TLS = Path(__file__).parents[2] / "data" / "kube-tls"
V1 = "client.authentication.k8s.io/v1"
SERVER = "http://127.0.0.1:1"


class Clock:
    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


async def authorization(credentials: Credentials) -> str | None:
    return (await credentials.current()).headers.get("Authorization")


@pytest.mark.parametrize(
    ("access", "header"),
    [
        (ClusterAccess(SERVER), None),
        (ClusterAccess(SERVER, token="t"), "Bearer t"),
        (ClusterAccess(SERVER, username="u", password="p:q"), "Basic dTpwOnE="),
        (ClusterAccess(SERVER, username="u"), "Basic dTo="),
    ],
)
async def test_fixed_credentials(access, header):
    assert await authorization(Credentials(access)) == header


class TestTokenFile:
    @pytest.fixture
    def path(self, tmp_path):
        path = tmp_path / "token"
        self.write(path, "one", 1)
        return path

    def write(self, path: Path, token: str, mtime: int) -> None:
        path.write_text(token + "\n")
        os.utime(path, (mtime, mtime))

    async def test_a_rotated_file_is_read_at_once(self, path):
        credentials = Credentials(ClusterAccess(SERVER, token_file=str(path)), clock=Clock())
        assert await authorization(credentials) == "Bearer one"
        self.write(path, "two", 2)
        assert await authorization(credentials) == "Bearer two"

    async def test_an_unmarked_change_is_seen_after_a_minute_or_a_401(self, path):
        clock = Clock()
        credentials = Credentials(ClusterAccess(SERVER, token_file=str(path)), clock=clock)
        assert await authorization(credentials) == "Bearer one"
        self.write(path, "two", 1)
        assert await authorization(credentials) == "Bearer one"
        clock.now += 60
        assert await authorization(credentials) == "Bearer two"
        self.write(path, "six", 1)
        credentials.rejected(await credentials.current())
        assert await authorization(credentials) == "Bearer six"

    async def test_the_last_good_token_is_kept(self, path):
        credentials = Credentials(ClusterAccess(SERVER, token_file=str(path)), clock=Clock())
        assert await authorization(credentials) == "Bearer one"
        path.unlink()
        assert await authorization(credentials) == "Bearer one"
        self.write(path, "", 3)
        assert await authorization(credentials) == "Bearer one"

    async def test_without_any_token(self, tmp_path):
        path = tmp_path / "token"
        credentials = Credentials(ClusterAccess(SERVER, token_file=str(path)), clock=Clock())
        for _ in range(2):
            with pytest.raises(ClusterError, match="token"):
                await credentials.current()
        path.write_bytes(b"\xff\xfe")
        with pytest.raises(ClusterError, match="ASCII"):
            await credentials.current()
        self.write(path, "late", 5)
        assert await authorization(credentials) == "Bearer late"

    async def test_the_inline_token_stands_in_for_an_unreadable_file(self, tmp_path):
        access = ClusterAccess(SERVER, token="inline", token_file=str(tmp_path / "none"))
        assert await authorization(Credentials(access, clock=Clock())) == "Bearer inline"


def spec(script: str, *args: str, **fields) -> ExecSpec:
    return ExecSpec(sys.executable, ("-I", "-c", script, *args), (), V1, **fields)


def answer(**status) -> str:
    return json.dumps({"apiVersion": V1, "kind": "ExecCredential", "status": status})


PRINT = "import sys; print(sys.argv[1])"
COUNT = """
import json, os, sys
count = int(open(sys.argv[1]).read()) + 1
open(sys.argv[1], "w").write(str(count))
if os.path.exists(sys.argv[1] + ".broken"):
    sys.exit("broken on request")
status = {"token": f"t{count}"}
if sys.argv[2]:
    status["expirationTimestamp"] = sys.argv[2]
print(json.dumps({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}))
"""


def exec_credentials(plugin: ExecSpec, wall: Clock | None = None, **access) -> Credentials:
    return Credentials(
        ClusterAccess(exec=plugin, **{"server": SERVER, **access}), wall=wall or Clock(), environ=dict(os.environ)
    )


TELL = """
import json, os
status = {"token": os.environ["KUBERNETES_EXEC_INFO"]}
print(json.dumps({"apiVersion": os.environ["V"], "kind": "ExecCredential", "status": status}))
"""


class TestExecPlugin:
    @pytest.fixture
    def counter(self, tmp_path):
        path = tmp_path / "count"
        path.write_text("0")
        return path

    async def test_run_once_without_an_expiry(self, counter):
        credentials = exec_credentials(spec(COUNT, str(counter), ""))
        assert [await authorization(credentials) for _ in range(3)] == ["Bearer t1"] * 3

    async def test_renewed_before_expiry(self, counter):
        wall = Clock()
        expiry = datetime.fromtimestamp(wall.now + 600, UTC).isoformat()
        credentials = exec_credentials(spec(COUNT, str(counter), expiry), wall)
        assert await authorization(credentials) == "Bearer t1"
        wall.now += 539
        assert await authorization(credentials) == "Bearer t1"
        wall.now += 1
        assert await authorization(credentials) == "Bearer t2"

    async def test_a_failing_renewal_keeps_the_old_until_it_expires(self, counter):
        wall = Clock()
        expiry = datetime.fromtimestamp(wall.now + 600, UTC).isoformat()
        credentials = exec_credentials(spec(COUNT, str(counter), expiry), wall)
        assert await authorization(credentials) == "Bearer t1"
        open(f"{counter}.broken", "w").close()  # noqa: ASYNC230
        wall.now += 599
        assert await authorization(credentials) == "Bearer t1"
        wall.now += 1
        with pytest.raises(ClusterError, match=r"exit code 1: broken on request$"):
            await credentials.current()

    async def test_401_runs_it_anew_once_for_all_who_got_it(self, counter):
        credentials = exec_credentials(spec(COUNT, str(counter), ""))
        first, same = await credentials.current(), await credentials.current()
        credentials.rejected(first)
        assert await authorization(credentials) == "Bearer t2"
        credentials.rejected(same)
        assert await authorization(credentials) == "Bearer t2"

    async def test_a_static_token_spares_the_program(self):
        access = ClusterAccess(SERVER, token="t", exec=ExecSpec("/nonexistent", (), (), V1))
        assert await authorization(Credentials(access)) == "Bearer t"

    async def test_what_the_program_is_told(self):
        plugin = ExecSpec(
            sys.executable,
            ("-I", "-c", TELL),
            (("V", V1),),
            V1,
            provide_cluster_info=True,
            cluster_config=b'{"audience":"k"}',
        )
        header = await authorization(exec_credentials(plugin, ca_data=b"CA", tls_server_name="n"))
        assert json.loads(header.removeprefix("Bearer ")) == {
            "kind": "ExecCredential",
            "apiVersion": V1,
            "spec": {
                "interactive": False,
                "cluster": {
                    "server": SERVER,
                    "certificate-authority-data": "Q0E=",
                    "tls-server-name": "n",
                    "config": {"audience": "k"},
                },
            },
        }

    def test_the_cluster_is_told_only_when_asked_for(self):
        told = json.loads(execplugin.exec_info(spec(PRINT), ClusterAccess(SERVER)))
        assert told["spec"] == {"interactive": False}

    async def test_certificates_from_the_program(self):
        pair = {
            "clientCertificateData": (TLS / "client.pem").read_text(),
            "clientKeyData": (TLS / "client.key").read_text(),
        }
        credentials = exec_credentials(spec(PRINT, answer(**pair)), server="https://127.0.0.1:1")
        grant = await credentials.current()
        assert grant.headers == {}
        assert grant.tls is (await credentials.current()).tls

    @pytest.mark.parametrize(
        ("output", "problem"),
        [
            ("", "expected an ExecCredential in JSON"),
            ("{", "expected an ExecCredential in JSON"),
            ('{"kind":"Pod"}', 'kind: expected "ExecCredential", got "Pod"'),
            ('{"kind":"ExecCredential","apiVersion":"v9"}', f'apiVersion: expected "{V1}", got "v9"'),
            (answer(), "status: expected a token or clientCertificateData"),
            (answer(token=""), "status: expected a token or clientCertificateData"),
            (answer(clientCertificateData="x"), "status: expected clientCertificateData and clientKeyData together"),
            (answer(token="t", expirationTimestamp="soon"), "expirationTimestamp"),
        ],
    )
    async def test_unusable_answers(self, output, problem):
        with pytest.raises(ClusterError, match=r"^exec plugin .*") as caught:
            await exec_credentials(spec(PRINT, output)).current()
        assert problem in str(caught.value)

    async def test_a_missing_program(self):
        plugin = ExecSpec("/nonexistent/login", (), (), V1, install_hint="Install it.\n")
        with pytest.raises(ClusterError) as caught:
            await exec_credentials(plugin).current()
        text = "exec plugin /nonexistent/login: cannot be run: no such file or directory (Install it.)"
        assert str(caught.value) == text

    async def test_a_hanging_program_is_killed(self, monkeypatch):
        monkeypatch.setattr(execplugin, "RUN_TIMEOUT", 0.05)
        with pytest.raises(ClusterError, match="no answer in"):
            await exec_credentials(spec("import time; time.sleep(60)")).current()


class TestTls:
    async def test_plain_http_has_no_context(self):
        assert (await Credentials(ClusterAccess(SERVER)).current()).tls is None

    def test_verification_is_on_unless_switched_off(self):
        context = client_context(ClusterAccess("https://x", ca_file=str(TLS / "ca.pem")))
        assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
        assert len(context.get_ca_certs()) == 1
        context = client_context(ClusterAccess("https://x", insecure_skip_tls_verify=True))
        assert (context.verify_mode, context.check_hostname) == (ssl.CERT_NONE, False)

    @pytest.mark.parametrize(
        ("access", "named"),
        [
            (ClusterAccess("https://x", ca_data=b"no PEM"), "certificate-authority-data"),
            (ClusterAccess("https://x", ca_file="/none"), "/none"),
            (ClusterAccess("https://x", cert_data=b"c", key_data=b"k"), "client-certificate-data"),
            (
                ClusterAccess("https://x", cert_file=str(TLS / "client.pem"), key_file=str(TLS / "other.key")),
                "client.pem",
            ),
        ],
    )
    def test_unusable_pem_is_named(self, access, named):
        with pytest.raises(ClusterError, match=named):
            client_context(access)

    def test_a_new_context_only_when_a_file_changes(self, tmp_path):
        cert, key = tmp_path / "cert", tmp_path / "key"
        cert.write_bytes((TLS / "client.pem").read_bytes())
        key.write_bytes((TLS / "client.key").read_bytes())
        contexts = TlsContexts(ClusterAccess("https://x", cert_file=str(cert), key_file=str(key)))
        first = contexts.current()
        assert contexts.current() is first
        key.write_bytes((TLS / "other.key").read_bytes() + b"\n")
        assert contexts.current() is first, "half a rotation is waited out"
        key.write_bytes((TLS / "client.key").read_bytes() + b"\n\n")
        assert contexts.current() is not first

    @pytest.mark.parametrize("memory", [True, False])
    def test_private_data_is_for_this_user_only_and_goes(self, monkeypatch, memory):
        if not memory:
            monkeypatch.delattr(os, "memfd_create", raising=False)
        elif not hasattr(os, "memfd_create"):
            pytest.skip("no memfd on this system")
        with private_file(b"secret") as path:
            assert Path(path).read_bytes() == b"secret"
            if not memory:
                assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        assert not os.path.exists(path)
        with private_file(None) as nothing:
            assert nothing is None
