"""The page: self-contained, well-formed, and safe from what names hold."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from support.querylog import report_of
from waypost.querylog.page.document import document
from waypost.querylog.page.plots import bar, duration_plot, volume_plot
from waypost.querylog.record import Query
from waypost.querylog.report import Report
from waypost.querylog.survey import Pod, Settings

T = 1_714_560_000.0
HOSTILE = "<script>alert(1)</script>&amp;.evil.example."
VOID = {"meta"}
SVG_ALONE = {"rect", "line", "path"}


class Outline(HTMLParser):
    """Checks nesting; collects tags with attributes, and texts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in SVG_ALONE
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def report() -> Report:
    queries = [
        Query(name, kind, rcode, "10.0.0.1", 0.001 * number, T + 40 * number, "1/1")
        for number in range(1, 50)
        for kind in ("A", "AAAA")
        for name, rcode in ((HOSTILE, "NXDOMAIN"), ("a.shop.svc.cluster.local.", "NOERROR"), ("b.", "SERVFAIL"))
    ]
    return report_of(queries, Settings(pods={"10.0.0.1": Pod("shop", "web")}))


def test_nothing_comes_from_elsewhere() -> None:
    outline = Outline(document(report()))
    assert not {"script", "link", "img", "iframe", "object", "embed", "base", "form"} & {tag for tag, _ in outline.tags}
    for _, attributes in outline.tags:
        assert not {"src", "srcset", "onload", "onclick", "xlink:href", "action"} & attributes.keys()
        assert (attributes.get("href") or "#").startswith("#")
    page = document(report())
    assert "url(" not in page
    assert "@import" not in page
    assert "default-src 'none'; style-src 'unsafe-inline'" in page


def test_names_are_text() -> None:
    page = document(report())
    assert "<script" not in page
    assert HOSTILE in Outline(page).text


def test_links_lead_somewhere() -> None:
    outline = Outline(document(report()))
    targets = {attributes["id"] for _, attributes in outline.tags if "id" in attributes}
    links = [str(attributes["href"])[1:] for _, attributes in outline.tags if "href" in attributes]
    assert links
    assert set(links) <= targets
    assert len(targets) == sum("id" in attributes for _, attributes in outline.tags)


def test_plots_say_in_words_what_they_show() -> None:
    for tag, attributes in Outline(document(report())).tags:
        if tag == "svg" and attributes.get("role") == "img":
            assert len(attributes["aria-label"] or "") > 20
    tags = Outline(document(report())).tags
    assert sum(attributes.get("role") == "img" for _, attributes in tags) == 2
    assert ("html", {"lang": "en"}) in tags
    assert "prefers-color-scheme: dark" in document(report())
    assert any(attributes.get("name") == "viewport" for _, attributes in tags)


def test_columns_are_as_high_as_their_counts() -> None:
    made = report()
    assert made.volume is not None
    heights = [float(height) for height in re.findall(r"v-([0-9.e-]+)h", volume_plot(made.volume))]
    most = max(sum(interval.counts) for interval in made.volume.intervals)
    assert sum(heights) * most / 100 == pytest.approx(made.queries, rel=0.01)
    assert made.durations is not None
    most = max(octave.number for octave in made.durations.octaves)
    heights = [float(height) for height in re.findall(r"v-([0-9.e-]+)h", duration_plot(made.durations))]
    assert sum(heights) * most / 100 == pytest.approx(made.queries, rel=0.01)


def test_bar() -> None:
    assert re.findall(r'class="(\w+)" x="([\d.]+)%" width="([\d.]+)%"', bar([("a", 0.25), ("b", 0.0), ("c", 0.5)])) == [
        ("a", "0.00", "25.00"),
        ("c", "25.00", "50.00"),
    ]


def test_an_empty_report_is_a_page_too() -> None:
    assert "Nothing that needs attention." in Outline(document(report_of([]))).text


def test_one_query_without_anything() -> None:
    Outline(document(report_of([Query("a.")])))
