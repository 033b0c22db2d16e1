"""The kubeconfig file as typed structs (kubectl's `Config`, API group v1); every other field is skipped.

Null and absent mean the same, as in kubectl, so that files written by tools (`args: null`) are read.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec
from msgspec import Struct, field

from waypost.kube.errors import ClusterError

Text: TypeAlias = str | None


class Extension(Struct):
    """A named extension of a cluster; `client.authentication.k8s.io/exec` is handed to exec plugins."""

    name: str
    extension: object = None


class Cluster(Struct, rename="kebab"):
    """`clusters[].cluster`."""

    server: Text = None
    certificate_authority: Text = None
    certificate_authority_data: Text = None
    insecure_skip_tls_verify: bool | None = None
    tls_server_name: Text = None
    proxy_url: Text = None
    disable_compression: bool | None = None
    extensions: list[Extension] | None = None


class EnvVar(Struct):
    """`exec.env[]`."""

    name: str
    value: Text = None


class Exec(Struct, rename="camel"):
    """`users[].user.exec`: a program that prints an ExecCredential."""

    command: Text = None
    api_version: Text = None
    args: list[str] | None = None
    env: list[EnvVar] | None = None
    install_hint: Text = None
    provide_cluster_info: bool | None = None
    interactive_mode: Text = None


class User(Struct, rename="kebab"):
    """`users[].user`."""

    client_certificate: Text = None
    client_certificate_data: Text = None
    client_key: Text = None
    client_key_data: Text = None
    token: Text = None
    token_file: Text = field(default=None, name="tokenFile")
    username: Text = None
    password: Text = None
    exec: Exec | None = None
    auth_provider: object = None
    impersonate: Text = field(default=None, name="as")


class Context(Struct):
    """`contexts[].context`: which cluster, as which user."""

    cluster: Text = None
    user: Text = None
    namespace: Text = None


class NamedCluster(Struct):
    """`clusters[]`."""

    name: str
    cluster: Cluster


class NamedUser(Struct):
    """`users[]`."""

    name: str
    user: User = field(default_factory=User)


class NamedContext(Struct):
    """`contexts[]`."""

    name: str
    context: Context


class KubeConfig(Struct, rename="kebab"):
    """The whole file."""

    current_context: Text = None
    clusters: list[NamedCluster] | None = None
    users: list[NamedUser] | None = None
    contexts: list[NamedContext] | None = None


def parse_kubeconfig(text: str, where: str) -> KubeConfig:
    """YAML or JSON `text` as structs; ClusterError begins with `where` and names the line or the field."""
    import yaml  # only who has such a file pays for it

    try:
        document = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ClusterError(f"{where}{line}: not YAML: {error.problem}") from error
    except yaml.YAMLError as error:
        raise ClusterError(f"{where}: not YAML: {error}") from error
    try:
        return msgspec.convert({} if document is None else document, KubeConfig)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at `$")
        path = path.rstrip("`").lstrip(".")
        problem = problem[:1].lower() + problem[1:].replace("`", "")
        raise ClusterError(f"{where}: {path}: {problem}" if path else f"{where}: {problem}") from error
