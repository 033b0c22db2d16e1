"""The whole page. Every text that comes from a log is escaped, and the page forbids itself everything but its style."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from html import escape
from typing import Final

from waypost.querylog.durations import format_duration
from waypost.querylog.page.plots import bar, duration_plot, swatch, volume_plot
from waypost.querylog.page.style import STYLE
from waypost.querylog.report import Finding, LeftOut, Report
from waypost.querylog.sections import Section, overview, percent, sections

_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
_BESIDE: Final = {
    "types": "rcodes",
    "rcodes": "types",
    "namespaces": "client-namespaces",
    "client-namespaces": "namespaces",
}
"""Parts that stand side by side, if both are there."""
_SERIES: Final = (("answered", "answered"), ("nxdomain", "NXDOMAIN"), ("failed", "failed otherwise"))
_CLIENT_PARTS: Final = (("answered", "answered"), ("nxdomain", "NXDOMAIN"), ("useless", "search list"))

_CODE: Final = re.compile("`([^`]*)`")

Part = tuple[str, float]


def document(report: Report) -> str:
    """The page as text, to be written in UTF-8."""
    parts = sections(report)
    keys = {part.key for part in parts}
    body = "".join((*_head(report), *_navigation(parts), *_findings(report.findings), *_volume(report)))
    shown = "".join(_section(part, report, wide=_BESIDE.get(part.key) not in keys) for part in parts)
    body += f'<div class="parts">{shown}</div>'
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>DNS query report</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n"
        f"{body}{''.join(_left_out(report.left_out))}\n</body>\n</html>\n"
    )


def _head(report: Report) -> Iterator[str]:
    yield "<header><h1>DNS query report</h1>"
    yield from (f"<p>{escape(_sentence(text))}</p>" for text in overview(report)[:2])
    yield '</header><dl class="tiles">'
    tiles = [
        ("queries", f"{report.queries:,}"),
        ("distinct names, about", f"{report.distinct_names:,}"),
        ("clients, about", f"{report.distinct_clients:,}"),
        ("NXDOMAIN", percent(report.nxdomain, report.queries)),
        ("search lists", percent(report.useless, report.queries)),
    ]
    if report.durations is not None:
        tiles.append(("99 % answered within", format_duration(report.durations.p99)))
    yield from (f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in tiles)
    yield "</dl>"


def _navigation(parts: tuple[Section, ...]) -> Iterator[str]:
    links = "".join(f'<li><a href="#{part.key}">{escape(part.title)}</a></li>' for part in parts)
    yield f'<nav aria-label="Parts"><ul>{links}</ul></nav>'


def _findings(findings: tuple[Finding, ...]) -> Iterator[str]:
    yield '<section id="findings"><h2>Findings</h2>'
    if not findings:
        yield "<p>Nothing that needs attention.</p>"
    items = "".join(
        f'<li class="{each.level}"><p><span class="level">{each.level}</span> {_marked(_sentence(each.what))}</p>'
        f"<p><strong>What to do:</strong> {_marked(each.remedy)}</p></li>"
        for each in findings
    )
    yield f'<ol class="findings">{items}</ol></section>' if items else "</section>"


def _volume(report: Report) -> Iterator[str]:
    if report.volume is not None:
        yield '<section id="volume"><h2>Queries over time</h2><figure>'
        yield volume_plot(report.volume)
        yield f"<figcaption>Queries in {report.volume.width} s; times are UTC.</figcaption></figure>{_key(_SERIES)}"
        yield "</section>"


def _section(part: Section, report: Report, *, wide: bool) -> str:
    text = "".join(f"<p>{escape(sentence)}</p>" for sentence in part.sentences)
    plot = ""
    if part.key == "durations" and report.durations is not None:
        caption = "<figcaption>Answers by duration; each column is twice as long as the one before.</figcaption>"
        plot = f"<figure>{duration_plot(report.durations)}{caption}</figure>"
    elif part.key == "clients" and part.rows:
        plot = _key(_CLIENT_PARTS)
    bars = _BARS[part.key](report) if part.key in _BARS else ()
    place = ' class="wide"' if wide else ""
    return (
        f'<section id="{part.key}"{place}><h2>{escape(part.title)}</h2>{text}{plot}'
        f"{''.join(_table(part, tuple(bars)))}</section>"
    )


def _table(part: Section, bars: tuple[tuple[Part, ...], ...]) -> Iterator[str]:
    """The table of a section, with a bar at the end of each row where there are bars."""
    if not part.rows:
        return
    numeric = [
        all(row[column].lstrip("~>=")[:1].isdigit() for row in part.rows) and column > 0
        for column in range(len(part.columns))
    ]
    kinds = [' class="number"' if is_number else "" for is_number in numeric]
    heads = "".join(
        f'<th scope="col"{kind}>{escape(name)}</th>' for name, kind in zip(part.columns, kinds, strict=True)
    )
    yield f'<div class="scroll"><table><thead><tr>{heads}{"<td></td>" if bars else ""}</tr></thead><tbody>'
    for index, row in enumerate(part.rows):
        cells = "".join(f"<td{kind}>{escape(cell)}</td>" for cell, kind in zip(row[1:], kinds[1:], strict=True))
        drawn = f'<td class="bar">{bar(bars[index])}</td>' if bars else ""
        yield f'<tr><th scope="row">{escape(row[0])}</th>{cells}{drawn}</tr>'
    yield "</tbody></table></div>"


def _type_bars(report: Report) -> Iterator[tuple[Part, ...]]:
    yield from ((("answered", row.queries / report.queries),) for row in report.types)


def _rcode_bars(report: Report) -> Iterator[tuple[Part, ...]]:
    kinds = {"NOERROR": "answered", "NXDOMAIN": "nxdomain"}
    yield from (((kinds.get(row.key, "failed"), row.queries / report.queries),) for row in report.rcodes)


def _client_bars(report: Report) -> Iterator[tuple[Part, ...]]:
    """Parts of each client's queries, scaled so that the first client's bar is whole."""
    most = max((row.queries for row in report.clients), default=1)
    for row in report.clients:
        counts = (row.queries - row.nxdomain, row.nxdomain - row.useless, row.useless)
        yield tuple((name, max(count, 0) / most) for (name, _), count in zip(_CLIENT_PARTS, counts, strict=True))


def _namespace_bars(report: Report) -> Iterator[tuple[Part, ...]]:
    most = max((row.queries for row in report.namespaces), default=1)
    for row in report.namespaces:
        yield ("answered", (row.queries - row.nxdomain) / most), ("nxdomain", row.nxdomain / most)


def _asking_bars(report: Report) -> Iterator[tuple[Part, ...]]:
    yield from ((("answered", row.queries / report.queries),) for row in report.client_namespaces)


_BARS: Final[Mapping[str, Callable[[Report], Iterator[tuple[Part, ...]]]]] = {
    "types": _type_bars,
    "rcodes": _rcode_bars,
    "clients": _client_bars,
    "namespaces": _namespace_bars,
    "client-namespaces": _asking_bars,
}
"""Section -> for each of its rows the parts of a bar."""


def _key(entries: tuple[tuple[str, str], ...]) -> str:
    return f'<ul class="key">{"".join(f"<li>{swatch(name)}{text}</li>" for name, text in entries)}</ul>'


def _left_out(left_out: tuple[LeftOut, ...]) -> Iterator[str]:
    if left_out:
        yield '<footer><h2>Left out</h2><ul class="left-out">'
        yield from (f"<li>{_marked(_sentence(f'{each.part}: {each.why}'))}</li>" for each in left_out)
        yield "</ul></footer>"


def _marked(text: str) -> str:
    """Escaped, with what stands in backticks marked as code."""
    return _CODE.sub(r"<code>\1</code>", escape(text))


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
