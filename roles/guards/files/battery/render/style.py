# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the page looks. No fonts, pictures or scripts from anywhere: it is read where there is no network."""

from __future__ import annotations

CSS = """
:root {
  color-scheme: light dark;
  --paper: #f7f7f5; --card: #ffffff; --ink: #1b1e22; --soft: #5a616a; --line: #dcdfe3; --code: #f3f4f6;
  --accent: #2b5c8f; --second: #9aa7b5; --third: #6b7580;
  --passed: #17683a; --passed-bg: #e3f3e8; --failed: #a11d1a; --failed-bg: #fbe5e3;
  --warn: #7a4f00; --warn-bg: #fcefd0; --unknown: #553a94; --unknown-bg: #ece6fa; --none: #555c64; --none-bg: #eceef0;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #131619; --card: #1b1f24; --ink: #e7e9ec; --soft: #a5adb6; --line: #333a42; --code: #14181c;
    --accent: #78aee0; --second: #66727f; --third: #98a3ae;
    --passed: #7fd6a0; --passed-bg: #15301f; --failed: #ff9f98; --failed-bg: #3b1a19;
    --warn: #f0c566; --warn-bg: #352a0f; --unknown: #c8b4ff; --unknown-bg: #29223f; --none: #a5adb6; --none-bg: #2a3037;
  }
}
*, *::before, *::after { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; scroll-behavior: smooth; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  font-variant-numeric: tabular-nums; overflow-wrap: break-word;
}
main { max-width: 74rem; margin: 0 auto; padding: clamp(1.25rem, 4vw, 3rem) clamp(1rem, 4vw, 2.5rem) 4rem; }
h1, h2, h3 { line-height: 1.2; text-wrap: balance; margin: 0; }
h1 { font-size: clamp(1.6rem, 1.2rem + 2vw, 2.4rem); letter-spacing: -0.015em; overflow-wrap: anywhere; }
h2 { font-size: 1.35rem; letter-spacing: -0.01em; margin: 3rem 0 1rem; }
h2 .soft { margin-left: 0.4rem; font-weight: 400; letter-spacing: 0; }
h3 { font-size: 1.05rem; }
p { margin: 0.5rem 0 0; max-width: 46rem; }
a { color: var(--accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.eyebrow { margin: 0 0 0.35rem; color: var(--soft); font-size: 0.875rem; }
.soft { color: var(--soft); font-size: 0.9rem; }
.passed { --tone: var(--passed); --tone-bg: var(--passed-bg); }
.failed { --tone: var(--failed); --tone-bg: var(--failed-bg); }
.not-exercised, .slow { --tone: var(--warn); --tone-bg: var(--warn-bg); }
.unknown, .incomplete { --tone: var(--unknown); --tone-bg: var(--unknown-bg); }
.not-asked { --tone: var(--none); --tone-bg: var(--none-bg); }
.verdict {
  margin: 1.25rem 0 0; padding: 1rem 1.25rem; border-radius: 0.6rem; border-left: 0.4rem solid var(--tone);
  background: var(--tone-bg);
}
.verdict strong { display: block; color: var(--tone); font-size: 1.5rem; line-height: 1.25; }
.verdict p { margin-top: 0.2rem; }
.pill {
  display: inline-block; padding: 0.1rem 0.6rem; border-radius: 1rem; background: var(--tone-bg); color: var(--tone);
  font-size: 0.85rem; font-weight: 600; white-space: nowrap;
}
.facts, .cards, .charts {
  display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, var(--least)), 1fr));
}
.facts { --least: 11rem; gap: 1rem 1.5rem; margin: 1.5rem 0 0; }
.facts div { min-width: 0; }
dt { color: var(--soft); font-size: 0.85rem; }
dd { margin: 0; overflow-wrap: anywhere; }
.strip { display: flex; flex-wrap: wrap; gap: 0.5rem; list-style: none; margin: 0 0 1.25rem; padding: 0; }
.strip a { text-decoration: none; white-space: normal; }
.strip a:hover { text-decoration: underline; }
.cards { --least: 25rem; gap: 1rem; }
.card, figure, .scroll { min-width: 0; border: 1px solid var(--line); border-radius: 0.6rem; background: var(--card); }
.card { padding: 1rem 1.15rem 1.15rem; }
.card.wide { grid-column: 1 / -1; border-left: 0.3rem solid var(--tone); }
.card header { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0.4rem 0.75rem; }
.card header h3 { flex: 1 1 auto; }
.card .soft { margin: 0; }
.proofs, .figures { list-style: none; margin: 0.75rem 0 0; padding: 0; font-size: 0.9rem; }
.proofs li { padding-left: 1.4rem; text-indent: -1.4rem; }
.proofs b { display: inline-block; width: 1.4rem; text-indent: 0; }
.figures { display: flex; flex-wrap: wrap; gap: 0.15rem 1.25rem; color: var(--soft); }
.figures b { color: var(--ink); font-weight: 600; }
.findings { margin: 1rem 0 0; padding: 0; list-style: none; }
.findings > li { counter-increment: finding; margin-top: 0.9rem; }
.findings > li > p { margin: 0; font-weight: 600; font-size: 0.95rem; }
.findings > li > p::before { content: counter(finding) ". "; color: var(--soft); font-weight: 400; }
details { margin-top: 0.75rem; }
summary { cursor: pointer; color: var(--accent); font-size: 0.95rem; }
pre {
  margin: 0.35rem 0 0; padding: 0.7rem 0.85rem; max-height: 18rem; overflow: auto; border: 1px solid var(--line);
  border-radius: 0.4rem; background: var(--code); white-space: pre-wrap; overflow-wrap: anywhere;
  font: 0.85rem/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
.scroll { overflow-x: auto; margin-top: 1rem; }
table { width: 100%; border-collapse: separate; border-spacing: 0; font-size: 0.925rem; }
th, td { padding: 0.55rem 0.9rem; text-align: left; vertical-align: top; }
tbody tr > * { border-top: 1px solid var(--line); }
thead th { color: var(--soft); font-size: 0.85rem; font-weight: 600; white-space: nowrap; }
tbody th { font-weight: 600; min-width: 8.5rem; }
th:first-child { position: sticky; left: 0; background: var(--card); }
.number { text-align: right; white-space: nowrap; }
.unit { display: block; color: var(--soft); font-size: 0.82rem; font-weight: 400; }
.names td { overflow-wrap: anywhere; min-width: 8rem; }
.notes { padding: 0.8rem 1.1rem; border-radius: 0.6rem; background: var(--tone-bg); }
.notes strong { color: var(--tone); }
.notes ul { margin: 0.25rem 0 0; padding-left: 1.2rem; }
.charts { --least: 20rem; gap: 1rem; margin-top: 1rem; }
figure { margin: 0; padding: 0.9rem 1rem 1rem; }
figcaption { margin-bottom: 0.7rem; font-weight: 600; font-size: 0.95rem; }
figcaption span { color: var(--soft); font-weight: 400; }
svg { display: block; width: 100%; max-width: 28rem; height: auto; overflow: visible; }
svg text { font-size: 12.5px; fill: var(--ink); }
svg .label { fill: var(--soft); }
svg .value { text-anchor: end; }
svg .bar.run { fill: var(--accent); }
svg .bar.accepted { fill: var(--second); }
svg .bar.expected { fill: none; stroke: var(--third); stroke-width: 1.5; stroke-dasharray: 4 3; }
svg .spread { fill: none; stroke: var(--ink); stroke-width: 1.5; }
svg .axis { fill: none; stroke: var(--third); }
svg .grid { stroke: var(--line); stroke-dasharray: 2 3; }
svg .line { fill: none; stroke: var(--second); stroke-width: 1.5; }
svg .point { fill: var(--card); stroke: var(--accent); stroke-width: 1.75; }
svg .point.filled { fill: var(--accent); }
svg .point.here { stroke: var(--ink); stroke-width: 2; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
footer {
  margin-top: 3rem; padding-top: 1rem; border-top: 1px solid var(--line); color: var(--soft); font-size: 0.875rem;
}
@media (max-width: 40rem) {
  h2 { margin-top: 2.25rem; }
  .verdict { padding: 0.85rem 1rem; }
  .facts { grid-template-columns: 1fr 1fr; gap: 0.8rem 1rem; }
  .card { padding: 0.9rem 0.95rem 1rem; }
  th, td { padding: 0.5rem 0.7rem; }
}
@media print {
  body { background: #fff; }
  .card, figure, tr { break-inside: avoid; }
  pre { max-height: none; }
}
"""
