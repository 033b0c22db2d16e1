"""The one exception of this package, worded as Go words it."""

from __future__ import annotations


class TemplateError(ValueError):
    """A template that does not parse, or that fails on its data: `template: answer:1: unexpected {{end}}`."""
