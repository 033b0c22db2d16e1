"""kube.config and kube.kubeconfig: where access comes from, and what is said about mistakes."""

from __future__ import annotations

import base64
import json

import pytest

from waypost.kube.config import ClusterAccess, ExecSpec, from_endpoint, from_kubeconfig, in_cluster, load_kubeconfig
from waypost.kube.errors import ClusterError


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def document(cluster: dict | None = None, user: dict | None = None, **changes) -> str:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "preferences": {},
        "clusters": [{"name": "c", "cluster": {"server": "https://10.0.0.1:6443"} | (cluster or {})}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [
            {"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "team"}},
            {"name": "y", "context": {"cluster": "c", "user": "nobody"}},
            {"name": "z", "context": {"cluster": "nowhere", "user": "u"}},
            {"name": "anonymous", "context": {"cluster": "c"}},
        ],
        "current-context": "x",
    }
    return json.dumps(config | changes)


def read(text: str, context: str | None = None, directory: str = "/dir") -> ClusterAccess:
    return from_kubeconfig(text, context=context, directory=directory, path="/x")


def problem(text: str, context: str | None = None) -> str:
    with pytest.raises(ClusterError) as caught:
        read(text, context)
    return str(caught.value)


def test_everything_inline():
    cluster = {
        "certificate-authority-data": b64("CA"),
        "certificate-authority": "/not/read",
        "tls-server-name": "kubernetes.default.svc",
        "insecure-skip-tls-verify": None,
        "proxy-url": "http://proxy:3128",
        "disable-compression": True,
    }
    user = {"client-certificate-data": b64("CERT"), "client-key-data": b64("KEY"), "token": "secret"}
    access = read(document(cluster, user))
    assert access == ClusterAccess(
        server="https://10.0.0.1:6443",
        ca_data=b"CA",
        cert_data=b"CERT",
        key_data=b"KEY",
        token="secret",
        tls_server_name="kubernetes.default.svc",
        proxy_url="http://proxy:3128",
        disable_compression=True,
        namespace="team",
    )
    assert "secret" not in repr(access)
    assert "KEY" not in repr(access)


def test_yaml_as_kubectl_writes_it():
    access = read(
        "apiVersion: v1\n"
        "clusters:\n"
        "- cluster:\n    server: https://[fd00::1]:6443\n  name: c\n"
        "contexts:\n- context: {cluster: c, user: u}\n  name: x\n"
        "current-context: x\nkind: Config\npreferences: {}\n"
        "users:\n- name: u\n  user:\n    exec:\n      apiVersion: client.authentication.k8s.io/v1\n"
        "      args: null\n      command: aws-iam\n      env: null\n      interactiveMode: IfAvailable\n"
        "      provideClusterInfo: false\n"
    )
    assert access.server == "https://[fd00::1]:6443"
    assert access.exec == ExecSpec("aws-iam", (), (), "client.authentication.k8s.io/v1")


def test_relative_paths_start_at_the_kubeconfig(tmp_path):
    for name in ("ca.pem", "cert.pem", "key.pem", "token"):
        (tmp_path / name).write_text("x")
    user = {"client-certificate": "cert.pem", "client-key": "key.pem", "tokenFile": "token"}
    (tmp_path / "config").write_text(document({"certificate-authority": "ca.pem"}, user))
    access = load_kubeconfig(str(tmp_path / "config"))
    found = (access.ca_file, access.cert_file, access.key_file, access.token_file)
    assert found == tuple(str(tmp_path / name) for name in ("ca.pem", "cert.pem", "key.pem", "token"))


def test_exec_plugin_with_all_its_fields():
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": "./bin/login",
        "args": ["-a", "b"],
        "env": [{"name": "HOME", "value": "/h"}],
        "installHint": "get it",
        "provideClusterInfo": True,
    }
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "k"}}
    access = read(document({"extensions": [{"name": "other", "extension": 1}, extension]}, {"exec": plugin}))
    assert access.exec == ExecSpec(
        command="/dir/./bin/login",
        args=("-a", "b"),
        env=(("HOME", "/h"),),
        api_version="client.authentication.k8s.io/v1beta1",
        provide_cluster_info=True,
        cluster_config=b'{"audience":"k"}',
        install_hint="get it",
    )


def test_another_context_and_basic_authentication():
    access = read(document(user={"username": "me", "password": "pw"}), context="x")
    assert (access.username, access.password) == ("me", "pw")
    assert read(document(user={"token": "t"}), context="anonymous").token is None


@pytest.mark.parametrize(
    ("text", "context", "expected"),
    [
        (document(), "y", 'kubeconfig /x: contexts[1].context.user: no user named "nobody"'),
        (document(), "z", 'kubeconfig /x: contexts[2].context.cluster: no cluster named "nowhere"'),
        (document(), "w", 'kubeconfig /x: contexts: no context named "w" (there is: "x", "y", "z", "anonymous")'),
        (document(**{"current-context": "w"}), None, 'kubeconfig /x: current-context: no context named "w" (there'),
        ("", None, "kubeconfig /x: current-context: not set, and no context was named"),
        ("clusters: null\nusers:\ncontexts: []\ncurrent-context: ''", None, "kubeconfig /x: current-context: not set"),
        ("a: [1\nb: 2\n", None, "kubeconfig /x:2: not YAML: "),
        ("a: \x00", None, "kubeconfig /x: not YAML: "),
        ("- 1", None, "kubeconfig /x: expected object, got array"),
        (
            document(clusters=[{"name": "c", "cluster": {"server": 5}}]),
            None,
            "kubeconfig /x: clusters[0].cluster.server: expected ",
        ),
        (document(clusters=[{"cluster": {}}]), None, "kubeconfig /x: clusters[0]: object missing required field name"),
        (
            document({"server": ""}),
            None,
            "kubeconfig /x: clusters[0].cluster.server: expected the URL of an API server",
        ),
        (
            document({"server": "ftp://h"}),
            None,
            'kubeconfig /x: clusters[0].cluster.server: expected a URL or host:port, got "ftp://h"',
        ),
        (document({"server": "https://[fd00::1"}), None, "kubeconfig /x: clusters[0].cluster.server: expected a URL"),
        (document({"server": "https://h:99999"}), None, "kubeconfig /x: clusters[0].cluster.server: expected a URL"),
        (
            document({"proxy-url": "socks5://h"}),
            None,
            "kubeconfig /x: clusters[0].cluster.proxy-url: expected an http or https URL",
        ),
        (
            document({"certificate-authority": "ca.pem"}),
            None,
            "kubeconfig /x: clusters[0].cluster.certificate-authority: open /dir/ca.pem: no such file or directory",
        ),
        (
            document({"certificate-authority-data": "$$$"}),
            None,
            "kubeconfig /x: clusters[0].cluster.certificate-authority-data: expected base64",
        ),
        (
            document(user={"client-key-data": "eA=="}),
            None,
            "kubeconfig /x: users[0].user.client-certificate: expected ",
        ),
        (
            document(user={"token": "t", "username": "u"}),
            None,
            "kubeconfig /x: users[0].user.username: expected either",
        ),
        (
            document(user={"tokenFile": "no"}),
            None,
            "kubeconfig /x: users[0].user.tokenFile: open /dir/no: no such file",
        ),
        (document(user={"auth-provider": {"name": "gcp"}}), None, "kubeconfig /x: users[0].user.auth-provider: "),
        (document(user={"as": "root"}), None, "kubeconfig /x: users[0].user.as: impersonation is not supported"),
        (document(user={"exec": {}}), None, "kubeconfig /x: users[0].user.exec.command: expected "),
        (
            document(user={"exec": {"command": "x", "apiVersion": "v2"}}),
            None,
            "kubeconfig /x: users[0].user.exec.apiVersion: expected client.auth",
        ),
        (
            document(
                user={
                    "exec": {
                        "command": "x",
                        "apiVersion": "client.authentication.k8s.io/v1",
                        "interactiveMode": "Always",
                    }
                }
            ),
            None,
            "kubeconfig /x: users[0].user.exec.interactiveMode: expected Never or IfAvailable",
        ),
    ],
)
def test_mistakes_name_file_and_field(text, context, expected):
    assert problem(text, context).startswith(expected)


def test_missing_and_unreadable_kubeconfig(tmp_path):
    missing = tmp_path / "none"
    with pytest.raises(ClusterError, match=f"^stat {missing}: no such file or directory$"):
        load_kubeconfig(str(missing))
    with pytest.raises(ClusterError, match=f"^open {tmp_path}: is a directory$"):
        load_kubeconfig(str(tmp_path))
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ClusterError, match="expected UTF-8 text"):
        load_kubeconfig(str(tmp_path / "binary"))


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("http://127.0.0.1:8080/", "http://127.0.0.1:8080"),
        ("https://host/k8s/clusters/c-1/", "https://host/k8s/clusters/c-1"),
        ("127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("[fd00::1]:8080", "http://[fd00::1]:8080"),
    ],
)
def test_endpoint(url, server):
    assert from_endpoint(url, None) == ClusterAccess(server=server)


def test_endpoint_with_tls(tmp_path):
    for name in ("cert", "key", "ca"):
        (tmp_path / name).write_text("x")
    cert, key, ca = (str(tmp_path / name) for name in ("cert", "key", "ca"))
    access = from_endpoint("10.0.0.1:6443", (cert, key, ca))
    assert access == ClusterAccess("https://10.0.0.1:6443", cert_file=cert, key_file=key, ca_file=ca)
    with pytest.raises(ClusterError) as caught:
        from_endpoint("10.0.0.1:6443", ("/no/cert", key, "/no/ca"))
    assert str(caught.value) == (
        "invalid configuration: [unable to read client-cert /no/cert for  due to open /no/cert: "
        "no such file or directory, unable to read certificate-authority /no/ca for  due to open /no/ca: "
        "no such file or directory]"
    )
    with pytest.raises(ClusterError, match=r'^endpoint: expected a URL or host:port, got "gopher://x"$'):
        from_endpoint("gopher://x", None)


def test_in_cluster(tmp_path):
    env = {"KUBERNETES_SERVICE_HOST": "fd00:10:96::1", "KUBERNETES_SERVICE_PORT": "443"}
    with pytest.raises(ClusterError, match=f"^open {tmp_path}/token: no such file or directory$"):
        in_cluster(env, str(tmp_path))
    (tmp_path / "token").write_text("t")
    access = in_cluster(env, str(tmp_path))
    assert access == ClusterAccess("https://[fd00:10:96::1]:443", token_file=str(tmp_path / "token"))
    (tmp_path / "ca.crt").write_text("CA")
    (tmp_path / "namespace").write_text("kube-system\n")
    access = in_cluster({**env, "KUBERNETES_SERVICE_HOST": "10.96.0.1"}, str(tmp_path))
    assert (access.server, access.namespace) == ("https://10.96.0.1:443", "kube-system")
    assert access.ca_file == str(tmp_path / "ca.crt")


@pytest.mark.parametrize("env", [{}, {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": ""}])
def test_not_in_a_cluster(env):
    with pytest.raises(ClusterError) as caught:
        in_cluster(env, "/nowhere")
    assert str(caught.value) == (
        "unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined"
    )
