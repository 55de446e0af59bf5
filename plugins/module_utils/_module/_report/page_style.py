# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The style of the HTML report: light and dark, on a phone and on paper. A module gets its code as Python files alone."""

from __future__ import annotations

STYLE = """
:root {
  color-scheme: light dark;
  --page: #ffffff; --text: #1b2430; --soft: #4c5866; --line: #d4dae1; --band: #f3f6f9; --link: #0b57a4;
  --exact: #1f7a4d; --safe: #c98a00; --blocked: #c0392b; --requested: #5a4fb0; --uncommitted: #7b8794;
  --good: #1f7a4d; --warning: #8a5a00; --bad: #a8261a;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12171d; --text: #e6ebf0; --soft: #aab6c2; --line: #36414d; --band: #1b222b; --link: #8ec5ff;
    --exact: #4cc38a; --safe: #f0b429; --blocked: #ff7b6b; --requested: #a79cff; --uncommitted: #8d99a6;
    --good: #5fd49b; --warning: #f2c14e; --bad: #ff8f82;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 84rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .75rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.25rem 0 .75rem; }
h3 { font-size: 1rem; margin: 1.25rem 0 .25rem; }
p { margin: .35rem 0; overflow-wrap: anywhere; }
a { color: var(--link); }
.result { border-left: .4rem solid var(--good); background: var(--band); padding: .75rem 1rem; font-size: 1.1rem; }
.result.warning { border-color: var(--warning); }
.result.bad { border-color: var(--bad); }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1.25rem; margin: 1rem 0; }
.facts dt { color: var(--soft); }
.facts dd { margin: 0; overflow-wrap: anywhere; }
.figures { display: flex; flex-wrap: wrap; gap: .75rem; padding: 0; margin: 0 0 1rem; list-style: none; }
.figures li { background: var(--band); padding: .5rem 1rem; min-width: 8rem; flex: 1 0 auto; }
.figures strong { display: block; font-size: 1.5rem; line-height: 1.3; }
.figures span { color: var(--soft); font-size: .9rem; }
svg.bar { display: block; width: 100%; height: 1.75rem; }
.legend { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; padding: 0; margin: .5rem 0; list-style: none; }
.legend svg { width: .8rem; height: .8rem; margin-right: .4rem; }
.exact { fill: var(--exact); } .safe { fill: var(--safe); } .blocked { fill: var(--blocked); }
.requested { fill: var(--requested); } .uncommitted { fill: var(--uncommitted); } .none { fill: var(--line); }
.taken, .mark { fill: var(--link); } .passed { fill: var(--soft); }
pre { background: var(--band); padding: .75rem 1rem; overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; border: 1px solid var(--line); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: .92rem; }
th, td { padding: .4rem .5rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
tbody tr:last-child > * { border-bottom: 0; }
th { background: var(--band); font-weight: 600; vertical-align: bottom; }
th button { all: unset; cursor: pointer; font-weight: 600; }
th button:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
th[aria-sort] button::after { content: " \\2195"; color: var(--soft); }
th[aria-sort=ascending] button::after { content: " \\2191"; color: inherit; }
th[aria-sort=descending] button::after { content: " \\2193"; color: inherit; }
td.number, th.number { text-align: right; }
td .from { display: block; color: var(--soft); font-size: .85rem; }
td bdi { overflow-wrap: break-word; } td.name bdi, td.detail bdi { overflow-wrap: anywhere; }
td.detail { min-width: 16rem; }
td.code { white-space: nowrap; }
h3 .verdict { white-space: normal; }
td.name { min-width: 7rem; max-width: 22rem; }
td svg.bar { width: 7rem; height: .9rem; margin-top: .3rem; }
td svg.log { display: block; width: 5rem; height: .5rem; margin: .35rem 0 0 auto; }
.verdict { white-space: nowrap; }
.verdict::before { content: ""; display: inline-block; width: .7rem; height: .7rem; margin-right: .4rem;
  background: var(--uncommitted); }
.verdict.is-exact::before { background: var(--exact); } .verdict.is-safe::before { background: var(--safe); }
.verdict.is-blocked::before { background: var(--blocked); } .verdict.is-requested::before { background: var(--requested); }
tr.more td { background: var(--band); }
.tools { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: end; margin: 0 0 .75rem; }
.tools label { display: block; color: var(--soft); font-size: .9rem; }
.tools input, .tools select { display: block; font: inherit; color: inherit; background: var(--page);
  border: 1px solid var(--soft); padding: .3rem .5rem; max-width: 100%; }
.tools input { width: 20rem; }
button.plain { font: inherit; color: var(--link); background: var(--page); border: 1px solid var(--soft);
  padding: .25rem .75rem; cursor: pointer; }
button.plain:disabled { color: var(--soft); border-color: var(--line); cursor: default; }
td button.plain { padding: 0 .5rem; }
.pages { display: flex; flex-wrap: wrap; gap: .75rem; align-items: center; margin: .75rem 0; }
.soft { color: var(--soft); }
@media (max-width: 40rem) {
  .facts { grid-template-columns: 1fr; gap: 0; }
  .facts dd { margin-bottom: .5rem; }
  .figures li { flex: 1 0 40%; min-width: 0; }
  .tools > div, .tools input, .tools select { width: 100%; }
}
@media print {
  :root { --page: #fff; --text: #000; --soft: #333; --line: #999; --band: #f3f3f3; }
  main { max-width: none; padding: 0; }
  .tools, .pages button, td button { display: none; }
  .scroll { overflow: visible; border: 0; }
  h2, h3 { break-after: avoid; }
  tr, .figures li { break-inside: avoid; }
  thead { display: table-header-group; }
  * { print-color-adjust: exact; }
}
"""
