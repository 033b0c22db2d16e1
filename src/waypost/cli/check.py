"""`waypost check`: every error of a Corefile at once, and advice; nothing is started and no socket opened."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from waypost.cli.ports import port_number

if TYPE_CHECKING:
    from waypost.advice.finding import Finding
    from waypost.control.document import Document
    from waypost.manifests.configmap import Embedded

_EPILOG = """\
A file is a Corefile, or YAML or JSON with ConfigMaps that have a data.Corefile. Advice has a code that docs/check.md
explains; the comment '# waypost: ignore W207', on the line or the one above it, silences it.

exit code: 0 it would start, 1 it would not (or, with --strict, there is advice), 2 wrong usage

examples:
  waypost check /etc/coredns/Corefile
  waypost check --strict -o github deploy/coredns.yaml
  waypost check --elsewhere --resolv-conf node.conf Corefile
  kubectl -n kube-system get configmap coredns -o yaml | waypost check -
"""
_STDIN: Final = ("-", "stdin")
_STDIN_NAME: Final = "/dev/stdin"
_MANIFEST_NAME: Final = (".yaml", ".yml", ".json")
_MANIFEST: Final = re.compile(r'^[\s{]*"?kind"?:\s*["\']?(ConfigMap|ConfigMapList|List)\b', re.MULTILINE)


def make_parser() -> argparse.ArgumentParser:
    """The words of the command."""
    parser = argparse.ArgumentParser(
        prog="waypost check",
        description="Find every error of a Corefile, and give advice on it. Nothing is started, no server is asked.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="Corefiles or ConfigMaps; - is standard input")
    parser.add_argument("--strict", action="store_true", help="advice gives exit code 1 too")
    parser.add_argument(
        "--elsewhere", action="store_true",
        help="the Corefile is for another machine: files that are not here are no errors (always so for ConfigMaps)",
    )  # fmt: skip
    parser.add_argument(
        "--resolv-conf", metavar="FILE", help="what the resolv.conf files that it names say there, such as a node's"
    )
    parser.add_argument("--port", default="53", help="port of blocks that name none (default: 53)")
    parser.add_argument("-o", "--output", choices=("text", "json", "github"), default="text", help="default: text")
    return parser


def main(words: Sequence[str]) -> int:
    """Print what is wrong and what could be better."""
    parser = make_parser()
    options = parser.parse_args(words)
    try:
        options.port = port_number(options.port)
        options.resolv_conf = options.resolv_conf and _read(options.resolv_conf)
    except OSError as exc:
        parser.error(str(exc))
    from waypost.advice.finding import ERROR
    from waypost.cli.findings import print_findings

    findings = [finding for path in options.files for finding in _findings(path, options)]
    print_findings(findings, [_name(path) for path in options.files], options.output)
    return int(any(finding.severity is ERROR or options.strict for finding in findings))


def _findings(path: str, options: argparse.Namespace) -> Iterator[Finding]:
    """Everything about one file."""
    from waypost.control.document import Document
    from waypost.control.examine import examine
    from waypost.corefile.errors import CorefileError
    from waypost.manifests.configmap import ConfigMapError, corefiles

    name = _name(path)
    try:
        document = Document(name, _read(path), options.port, options.elsewhere, resolv_conf=options.resolv_conf)
        if not path.endswith(_MANIFEST_NAME) and not _MANIFEST.search(document.text):
            yield from examine(document)
            return
        embedded = corefiles(document.text)
        if not embedded:
            yield _fault(name, 1, "no ConfigMap with data.Corefile in it")
        for each in embedded:
            yield from _embedded(document, each)
    except ConfigMapError as exc:
        yield _fault(name, exc.line, exc.text)
    except OSError as exc:
        yield _fault(name, 0, str(exc))
    except CorefileError as exc:
        yield _fault(name, 0, str(exc))


def _embedded(document: Document, corefile: Embedded) -> Iterator[Finding]:
    """The findings of a Corefile in a ConfigMap, at their places in the YAML file."""
    from waypost.control.examine import examine

    inner = replace(document, text=corefile.text, elsewhere=True, beside=corefile.data)
    for finding in examine(inner):
        if finding.file != document.name:
            yield finding
            continue
        line, column = corefile.place(finding.line, finding.column)
        found = finding.found if corefile.exact or not finding.line else f"line {finding.line}: {finding.found}"
        yield replace(finding, line=line, column=column, found=found)


def _fault(file: str, line: int, text: str) -> Finding:
    from waypost.advice.finding import ERROR, Finding

    return Finding(file, line, 0, ERROR, text)


def _name(path: str) -> str:
    return _STDIN_NAME if path in _STDIN else path


def _read(path: str) -> str:
    """A file, or standard input; bytes that are not UTF-8 are replaced. Raises OSError with a line for the user."""
    if path in _STDIN:
        return sys.stdin.buffer.read().decode("utf-8", "replace") if sys.stdin is not None else ""
    try:
        with open(path, encoding="utf-8", errors="replace", newline="") as stream:
            return stream.read()
    except (OSError, ValueError) as exc:
        raise OSError(f"open {path}: {(getattr(exc, 'strerror', None) or str(exc)).lower()}") from exc
