"""Shapes as SVG text. A drawing is one self-contained file: no script, no style sheet, no link, no font of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

INK, FAINT, PAPER = "#24292f", "#d0d7de", "#ffffff"
_FONT = "system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif"


class Stroke(NamedTuple):
    """How a line is drawn; `dash` as SVG's stroke-dasharray, empty for a whole line."""

    colour: str = INK
    width: float = 1.0
    dash: str = ""


def text(x: float, y: float, words: str, *, size: int = 11, anchor: str = "start", colour: str = INK) -> str:
    """Words on a base line; `anchor` is start, middle or end."""
    style = f'font-size="{size}" text-anchor="{anchor}" fill="{colour}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(words)}</text>'


def rectangle(x: float, y: float, width: float, height: float, colour: str) -> str:
    """A filled one; x and y are those of the upper left corner."""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}"/>'


def polyline(points: Iterable[tuple[float, float]], stroke: Stroke) -> str:
    """A line through points."""
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dash = f' stroke-dasharray="{stroke.dash}"' if stroke.dash else ""
    return f'<polyline points="{places}" fill="none" stroke="{stroke.colour}" stroke-width="{stroke.width}"{dash}/>'


def moved(x: float, y: float, shapes: Iterable[str]) -> str:
    """Shapes whose origin is here."""
    return f'<g transform="translate({x:.1f} {y:.1f})">{"".join(shapes)}</g>'


def document(width: float, height: float, title: str, shapes: Sequence[str]) -> str:
    """A whole file; the title is read aloud to who cannot see it."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label={quoteattr(title)} '
        f'font-family="{_FONT}">'
    )
    return "\n".join((head, rectangle(0, 0, width, height, PAPER), *shapes, "</svg>")) + "\n"
