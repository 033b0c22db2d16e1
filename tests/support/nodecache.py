"""Recorded rules of NodeLocal DNSCache, and chains as its recording stand-in for iptables kept them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, cast

from support.tree import ROOT
from waypost.nodecache.rules import Rule

CASES: list[dict[str, Any]] = json.loads(
    (ROOT / "tests/data/nodecache/nodelocal-iptables.json").read_text(encoding="utf-8")
)


class Chains:
    """Rules in their chains, by `table/chain`, the top of each first; edited by the input of `iptables-restore`."""

    def __init__(self, rules: Sequence[Rule], before: Mapping[str, Sequence[int]] | None = None) -> None:
        self._rules = list(rules)
        self._lines = {line(rule): number for number, rule in enumerate(rules)}
        self.chains: dict[str, list[int]] = {f"{rule.table}/{rule.chain}": [] for rule in rules}
        for name, numbers in (before or {}).items():
            self.chains[name] = list(numbers)

    def save(self) -> str:
        """What `iptables-save` prints."""
        lines = []
        for table in ("raw", "filter"):
            lines += [f"*{table}", ":OUTPUT ACCEPT [0:0]"]
            lines += [
                f"-A {line(self._rules[number])}"
                for name, numbers in self.chains.items()
                if name.startswith(f"{table}/")
                for number in numbers
            ]
            lines.append("COMMIT")
        return "\n".join(lines) + "\n"

    def restore(self, text: str) -> None:
        """What `iptables-restore --noflush` does."""
        table = ""
        for each in text.splitlines():
            if each.startswith("*"):
                table = each[1:]
            elif each != "COMMIT":
                operation, chain, *_ = each.split()
                number = self._numbered(table, each[3:])
                found = self.chains[f"{table}/{chain}"]
                if operation == "-I":
                    found.insert(0, number)
                else:
                    found.remove(number)

    def _numbered(self, table: str, text: str) -> int:
        words = shlex.split(text)
        for number, rule in enumerate(self._rules):
            if rule.table == table and sorted(words) in (sorted(shlex.split(line(rule))), sorted(plain(rule))):
                return number
        raise AssertionError(f"no rule such as {text}")


def plain(rule: Rule) -> list[str]:
    """As it is put in."""
    return [rule.chain, *rule.arguments]


def line(rule: Rule) -> str:
    """As `iptables-save` writes it behind `-A `."""
    prefix = "128" if ":" in rule.address and "." not in rule.address else "32"
    flag, port = ("-d", "--dport") if rule.side == "destination" else ("-s", "--sport")
    return (
        f"{rule.chain} {flag} {rule.address}/{prefix} -p {rule.protocol} -m {rule.protocol} {port} {rule.port} "
        f'-m comment --comment "{rule.comment}" -j {rule.target}'
    )


def rules_of(case: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The recorded rules."""
    return cast(list[dict[str, Any]], case["expect"].get("rules", []))
