"""The page's style sheet: light and dark as the reader's system is, and readable on a phone."""

from __future__ import annotations

from typing import Final

STYLE: Final = """\
:root {
  color-scheme: light dark;
  --page: #f6f7f8; --card: #ffffff; --line: #dfe3e8; --text: #1d2127; --quiet: #59626e;
  --answered: #2f6fb2; --useless: #e0a63a; --nxdomain: #b8741a; --failed: #c2383a;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14171b; --card: #1d2126; --line: #343b43; --text: #e6e9ed; --quiet: #a0a9b4;
    --answered: #6aa5e3; --useless: #f0cd84; --nxdomain: #d99a3f; --failed: #ef7b7c;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 1.25rem 1rem 3rem; max-width: 68rem;
  background: var(--page); color: var(--text);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
}
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 .25rem; }
h2 { font-size: 1.15rem; margin: 0 0 .5rem; }
p { margin: 0 0 .5rem; }
header p { color: var(--quiet); }
a { color: inherit; }
nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1rem; list-style: none; margin: 1rem 0; padding: 0; }
section { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: 1rem; }
section { margin: 0 0 1rem; }
.parts { display: grid; gap: 0 1rem; grid-template-columns: repeat(2, minmax(0, 1fr)); }
.parts > .wide { grid-column: 1 / -1; }
@media (max-width: 46rem) { .parts { grid-template-columns: minmax(0, 1fr); } }
.tiles { display: grid; gap: .75rem; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); margin: 1rem 0; }
.tiles div { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: .6rem .9rem; }
.tiles dt { color: var(--quiet); font-size: .85rem; }
.tiles dd { margin: 0; font-size: 1.5rem; font-weight: 600; font-variant-numeric: tabular-nums; }
dl { margin: 0; }
.findings { list-style: none; margin: 0; padding: 0; display: grid; gap: .75rem; }
.findings li { border-left: .3rem solid var(--nxdomain); padding: .1rem 0 .1rem .8rem; overflow-wrap: anywhere; }
.findings li.problem { border-color: var(--failed); }
.findings p { margin: 0; }
.level { font-size: .75rem; font-weight: 700; text-transform: uppercase; letter-spacing: .05em; }
.problem .level { color: var(--failed); }
.notice .level { color: var(--nxdomain); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .3rem .75rem .3rem 0; border-top: 1px solid var(--line); vertical-align: top; }
thead td { border-top: 0; }
thead th { border-top: 0; color: var(--quiet); font-weight: 600; white-space: nowrap; }
td { white-space: nowrap; }
tbody th { font-weight: 400; min-width: 9rem; overflow-wrap: anywhere; }
td.number, th.number { text-align: right; }
code { font-size: .9em; }
tr > :last-child { padding-right: 0; }
td.bar { width: 30%; min-width: 5rem; vertical-align: middle; }
svg { display: block; }
svg text { fill: var(--quiet); font-size: .75rem; }
.grid { stroke: var(--line); }
.answered { fill: var(--answered); }
.useless { fill: var(--useless); }
.nxdomain { fill: var(--nxdomain); }
.failed { fill: var(--failed); }
figure { margin: 0 0 .75rem; }
figcaption, .key { color: var(--quiet); font-size: .85rem; }
.key { display: flex; flex-wrap: wrap; gap: .1rem 1rem; list-style: none; margin: .25rem 0 0; padding: 0; }
.key svg { display: inline-block; margin-right: .35rem; }
footer { color: var(--quiet); font-size: .85rem; }
footer ul { padding-left: 1.2rem; }
"""
