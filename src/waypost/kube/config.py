"""How a cluster is reached: from a kubeconfig, from the `endpoint` directive, or from inside a pod.

All three end in one `ClusterAccess`. A mistake raises `ClusterError`, whose text says file and field, or is the text
of CoreDNS (client-go) where users know it.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import msgspec

from waypost.kube import kubeconfig
from waypost.kube.errors import ClusterError

SERVICE_ACCOUNT_DIR = "/var/run/secrets/kubernetes.io/serviceaccount"
EXEC_API_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
EXEC_EXTENSION = "client.authentication.k8s.io/exec"
INTERACTIVE_MODES = ("Never", "IfAvailable")


@dataclass(frozen=True, slots=True)
class ExecSpec:
    """A credential plugin (client.authentication.k8s.io): the program, and what it is told."""

    command: str
    args: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = field(repr=False)
    api_version: str
    provide_cluster_info: bool = False
    cluster_config: bytes | None = None
    """The cluster's `client.authentication.k8s.io/exec` extension, as JSON."""
    install_hint: str = ""


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """Where the API server is and who we are. Paths are absolute, `*_data` is decoded, unset is None."""

    server: str
    ca_data: bytes | None = None
    ca_file: str | None = None
    cert_data: bytes | None = None
    cert_file: str | None = None
    key_data: bytes | None = field(default=None, repr=False)
    key_file: str | None = None
    token: str | None = field(default=None, repr=False)
    token_file: str | None = None
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    exec: ExecSpec | None = None
    tls_server_name: str | None = None
    insecure_skip_tls_verify: bool = False
    proxy_url: str | None = None
    disable_compression: bool = False
    namespace: str | None = None


def os_error_text(operation: str, path: str, error: OSError) -> str:
    """An operating system error in Go's words: `open /x: no such file or directory`."""
    return f"{operation} {path}: {(error.strerror or str(error)).lower()}"


def load_kubeconfig(path: str, context: str | None = None) -> ClusterAccess:
    """The access that the kubeconfig file at `path` describes, by `context` or its current one."""
    try:
        os.stat(path)
    except OSError as error:
        raise ClusterError(os_error_text("stat", path, error)) from error
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except OSError as error:
        raise ClusterError(os_error_text("open", path, error)) from error
    except UnicodeDecodeError as error:
        raise ClusterError(f"kubeconfig {path}: expected UTF-8 text: {error.reason}") from error
    return from_kubeconfig(text, context=context, directory=os.path.dirname(os.path.abspath(path)), path=path)


def from_kubeconfig(text: str, *, context: str | None, directory: str, path: str = "") -> ClusterAccess:
    """The access in a kubeconfig's `text`; relative paths start at `directory`, `path` is for error texts."""
    where = f"kubeconfig {path}" if path else "kubeconfig"
    config = kubeconfig.parse_kubeconfig(text, where)
    contexts = [entry.name for entry in config.contexts or ()]
    name = context or config.current_context
    if not name:
        raise ClusterError(f"{where}: current-context: not set, and no context was named")
    if name not in contexts:
        field_name = "contexts" if context else "current-context"
        known = ", ".join(f'"{known}"' for known in contexts) or "none"
        raise ClusterError(f'{where}: {field_name}: no context named "{name}" (there is: {known})')
    index = contexts.index(name)
    chosen = (config.contexts or [])[index].context
    clusters = [entry.name for entry in config.clusters or ()]
    users = [entry.name for entry in config.users or ()]
    at = f"{where}: contexts[{index}].context"
    if chosen.cluster not in clusters:
        raise ClusterError(f'{at}.cluster: no cluster named "{chosen.cluster or ""}"')
    if chosen.user and chosen.user not in users:
        raise ClusterError(f'{at}.user: no user named "{chosen.user}"')
    cluster_at, user_at = clusters.index(chosen.cluster or ""), users.index(chosen.user) if chosen.user else -1
    cluster = (config.clusters or [])[cluster_at].cluster
    user = (config.users or [])[user_at].user if chosen.user else kubeconfig.User()
    return _access(
        cluster,
        user,
        chosen.namespace,
        Place(f"{where}: clusters[{cluster_at}].cluster", directory),
        Place(f"{where}: users[{user_at}].user", directory),
    )


@dataclass(frozen=True, slots=True)
class Place:
    """An object of a kubeconfig: its name in error texts, and where its relative paths start."""

    name: str
    directory: str

    def error(self, key: str, text: str) -> ClusterError:
        """A mistake in field `key`."""
        return ClusterError(f"{self.name}.{key}: {text}")

    def data(self, key: str, value: str | None) -> bytes | None:
        """Base64 `value` decoded."""
        if not value:
            return None
        try:
            return base64.b64decode("".join(value.split()), validate=True)
        except (binascii.Error, ValueError) as error:
            raise self.error(key, "expected base64") from error

    def file(self, key: str, value: str | None) -> str | None:
        """The absolute path of a file that must be readable."""
        if not value:
            return None
        path = os.path.join(self.directory, value)
        if problem := _unreadable(path):
            raise self.error(key, problem)
        return path

    def pair(self, key: str, path: str | None, data: str | None) -> tuple[bytes | None, str | None]:
        """Inline data wins over the file, as in kubectl."""
        decoded = self.data(f"{key}-data", data)
        return decoded, None if decoded else self.file(key, path)


def _access(
    cluster: kubeconfig.Cluster, user: kubeconfig.User, namespace: str | None, at: Place, user_at: Place
) -> ClusterAccess:
    if not cluster.server:
        raise at.error("server", "expected the URL of an API server")
    if user.auth_provider:
        raise user_at.error("auth-provider", "no longer part of Kubernetes, use exec")
    if user.impersonate:
        raise user_at.error("as", "impersonation is not supported")
    if user.username and (user.token or user.token_file):
        raise user_at.error("username", "expected either a token or a user name, not both")
    ca_data, ca_file = at.pair(
        "certificate-authority", cluster.certificate_authority, cluster.certificate_authority_data
    )
    cert_data, cert_file = user_at.pair("client-certificate", user.client_certificate, user.client_certificate_data)
    key_data, key_file = user_at.pair("client-key", user.client_key, user.client_key_data)
    if bool(cert_data or cert_file) != bool(key_data or key_file):
        raise user_at.error("client-certificate", "expected client-certificate and client-key together")
    secure = bool(ca_data or ca_file or cert_data or cert_file or cluster.insecure_skip_tls_verify)
    return ClusterAccess(
        server=_server_url(cluster.server, secure, at),
        ca_data=ca_data,
        ca_file=ca_file,
        cert_data=cert_data,
        cert_file=cert_file,
        key_data=key_data,
        key_file=key_file,
        token=user.token or None,
        token_file=user_at.file("tokenFile", user.token_file),
        username=user.username or None,
        password=user.password or None,
        exec=_exec_spec(user.exec, cluster, user_at) if user.exec else None,
        tls_server_name=cluster.tls_server_name or None,
        insecure_skip_tls_verify=bool(cluster.insecure_skip_tls_verify),
        proxy_url=_proxy_url(cluster.proxy_url, at),
        disable_compression=bool(cluster.disable_compression),
        namespace=namespace or None,
    )


def _exec_spec(plugin: kubeconfig.Exec, cluster: kubeconfig.Cluster, at: Place) -> ExecSpec:
    if not plugin.command:
        raise at.error("exec.command", "expected the name of a program")
    if plugin.api_version not in EXEC_API_VERSIONS:
        raise at.error("exec.apiVersion", f"expected {' or '.join(EXEC_API_VERSIONS)}")
    if plugin.interactive_mode and plugin.interactive_mode not in INTERACTIVE_MODES:
        raise at.error("exec.interactiveMode", f"expected {' or '.join(INTERACTIVE_MODES)}: a server has no terminal")
    command = plugin.command
    if os.sep in command:
        command = os.path.join(at.directory, command)
    told = [entry.extension for entry in cluster.extensions or () if entry.name == EXEC_EXTENSION]
    return ExecSpec(
        command=command,
        args=tuple(plugin.args or ()),
        env=tuple((variable.name, variable.value or "") for variable in plugin.env or ()),
        api_version=plugin.api_version,
        provide_cluster_info=bool(plugin.provide_cluster_info),
        cluster_config=msgspec.json.encode(told[0]) if told else None,
        install_hint=plugin.install_hint or "",
    )


def _server_url(server: str, secure: bool, at: Place | None = None) -> str:
    """`server` as a URL; `host:port` gets the scheme that the TLS settings imply, as in client-go."""
    url = server if "://" in server else f"{'https' if secure else 'http'}://{server}"
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        text = f'expected a URL or host:port, got "{server}"'
        raise at.error("server", text) if at else ClusterError(f"endpoint: {text}")
    return url.rstrip("/")


def _proxy_url(proxy: str | None, at: Place) -> str | None:
    if proxy and urlsplit(proxy).scheme not in ("http", "https"):
        raise at.error("proxy-url", f'expected an http or https URL, got "{proxy}": not supported yet')
    return proxy or None


def from_endpoint(url: str, tls: tuple[str, str, str] | None) -> ClusterAccess:
    """The `endpoint` directive with its `tls` files (certificate, key, CA; "" for none)."""
    cert, key, ca = tls or ("", "", "")
    files = (("client-cert", cert), ("client-key", key), ("certificate-authority", ca))
    found = ((name, path, _unreadable(path)) for name, path in files if path)
    problems = [f"unable to read {name} {path} for  due to {problem}" for name, path, problem in found if problem]
    if problems:
        text = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
        raise ClusterError(f"invalid configuration: {text}")
    return ClusterAccess(
        server=_server_url(url, secure=tls is not None),
        cert_file=cert or None,
        key_file=key or None,
        ca_file=ca or None,
    )


def in_cluster(env: Mapping[str, str], service_account_dir: str = SERVICE_ACCOUNT_DIR) -> ClusterAccess:
    """The access of a pod: address from `env`, token, CA and namespace from its service account's folder."""
    host, port = env.get("KUBERNETES_SERVICE_HOST"), env.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        raise ClusterError(
            "unable to load in-cluster configuration, "
            "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined"
        )
    token_file = os.path.join(service_account_dir, "token")
    if problem := _unreadable(token_file):
        raise ClusterError(problem)
    ca_file = os.path.join(service_account_dir, "ca.crt")
    return ClusterAccess(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        token_file=token_file,
        ca_file=None if _unreadable(ca_file) else ca_file,
        namespace=_namespace(os.path.join(service_account_dir, "namespace")),
    )


def _namespace(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def _unreadable(path: str) -> str:
    """Why the file at `path` cannot be read, or ""."""
    try:
        with open(path, "rb") as file:
            file.read(1)
    except OSError as error:
        return os_error_text("open", path, error)
    return ""
