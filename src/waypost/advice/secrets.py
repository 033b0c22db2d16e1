"""Advice on keys: who can read them, and who may ask for a whole zone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from waypost.advice.finding import WARNING, Remark, Rule
from waypost.advice.subject import Block, Subject, Use
from waypost.corefile.model import Token

_OTHERS_READ: Final = 0o004
_NAMING_KEYS: Final = frozenset(("dnssec", "etcd", "forward", "grpc", "kubernetes", "sign", "tls", "tsig"))


def secret_files(subject: Subject) -> Iterator[tuple[Token, str]]:
    """Every file of secrets that the Corefile names: where, and its path with `root` applied."""
    for block in subject.blocks:
        root = next((use.words[0] for use in block.uses("root") if use.words), "")
        for name, use in block.everything:
            for token, path in _paths(name, use) if name in _NAMING_KEYS else ():
                yield token, path if path.startswith("/") or not root else f"{root.rstrip('/')}/{path}"


def _paths(name: str, use: Use) -> Iterator[tuple[Token, str]]:
    if name == "tls" and len(use.args) > 1:
        yield use.args[1], use.args[1].text
    for option in use.options:
        values = option.values
        match option.name.text:
            case "tls" if len(values) > 1:
                yield values[1], values[1].text
            case "kubeconfig" | "secrets" | "keylog" if values:
                yield values[0], values[0].text
            case "key" if values and values[0].text == "file":
                yield from ((value, f"{_base(value.text)}.private") for value in values[1:])


def _base(path: str) -> str:
    return path.removesuffix(".key").removesuffix(".private")


def world_readable(subject: Subject) -> Iterator[Remark]:
    """Others than owner and group can read it."""
    for token, path in secret_files(subject):
        mode = subject.facts.modes.get(path)
        if mode is not None and mode & _OTHERS_READ:
            yield Remark(token, f"{path} has the mode {mode & 0o7777:04o}: everybody on this machine can read it")


def secret_in_corefile(subject: Subject) -> Iterator[Remark]:
    """A key for whoever may read the ConfigMap."""
    for _, use in subject.uses("tsig"):
        for option in use.all("secret"):
            yield Remark(option.name, "a secret stands in the Corefile itself")


def transfer_to_all(subject: Subject) -> Iterator[Remark]:
    """A whole zone for whoever asks."""
    for block, use in subject.uses("transfer"):
        for option in use.all("to"):
            if "*" in option.words and not _restricted(block):
                yield Remark(option.name, "`to *`: every client may have the whole zone")


def _restricted(block: Block) -> bool:
    return block.has("acl", "tsig")


RULES: Final = (
    Rule(
        "W801", WARNING, "a secret that everybody can read",
        "Whoever has an account on the machine, or a way into the container, has the key.",
        "chmod 0600, or `defaultMode: 0400` of the Secret volume.",
        world_readable,
    ),
    Rule(
        "W802", WARNING, "a secret in the Corefile",
        "ConfigMaps are not for secrets: more people may read them, and they stand in repositories.",
        "Write `secrets FILE`, with the file from a Secret.",
        secret_in_corefile,
    ),
    Rule(
        "W803", WARNING, "zone transfers for everybody",
        "One question gives the list of every name, of every namespace too.",
        "Name the secondaries: `to 192.0.2.53`.",
        transfer_to_all,
    ),
)  # fmt: skip
