"""How the page looks: light and dark, on a phone, on paper. No font or image comes from outside."""

from __future__ import annotations

CSS = """
:root { color-scheme: light dark; --ink: #1b1f24; --dim: #59636e; --page: #fff; --line: #d9dee4;
  --band: #f5f7f9; --link: #0b5cad; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e8ec; --dim: #a3adb8; --page: #14181d; --line: #333b44; --band: #1c2229;
    --link: #7db7f0; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 76rem; background: var(--page);
  color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans",
  sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 2.75rem 0 .75rem; padding-top: .75rem;
  border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1.5rem 0 .5rem; }
a { color: var(--link); }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1rem; margin: 1rem 0; font-size: .9rem; }
p, li { max-width: 50rem; overflow-wrap: anywhere; }
ul { padding-left: 1.25rem; }
code { font-size: .9em; overflow-wrap: anywhere; }
.note, figcaption, header p { color: var(--dim); font-size: .875rem; margin: .4rem 0 0; }
.frame { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; }
.frame:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
table { border-collapse: collapse; width: 100%; font-size: .85rem;
  font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .6rem; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line); overflow-wrap: break-word; }
tbody tr:last-child > * { border-bottom: 0; }
thead th { background: var(--band); vertical-align: bottom; }
tbody th { font-weight: 500; min-width: 7rem; }
th:first-child { position: sticky; left: 0; background: var(--page); }
thead th:first-child { background: var(--band); }
td:not(.n) { min-width: 6rem; max-width: 26rem; }
.n { text-align: right; white-space: nowrap; }
.w { white-space: nowrap; }
thead .n { white-space: normal; }
figure { margin: 1.25rem 0; }
.card { background: #fff; border: 1px solid var(--line); border-radius: 6px; padding: .75rem;
  overflow-x: auto; max-width: 54rem; }
.card svg { display: block; width: 100%; height: auto; min-width: 32rem; }
details { margin: 1rem 0; }
summary { cursor: pointer; font-weight: 600; }
@media (max-width: 40rem) {
  body { padding: 1rem .75rem 3rem; }
  h1 { font-size: 1.35rem; }
  tbody th { min-width: 9.5rem; max-width: 11rem; overflow-wrap: anywhere; }
  #summary > .frame :is(td, th):nth-child(2) { display: none; }
}
@media print {
  :root { --ink: #000; --dim: #444; --page: #fff; --line: #bbb; --band: #f2f2f2; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  nav { display: none; }
  .frame, .card { overflow: visible; border: 0; padding: 0; }
  .card svg { min-width: 0; max-height: 22cm; }
  table { font-size: 7.5pt; }
  .n, .w { white-space: normal; }
  td:not(.n), tbody th { min-width: 0; }
  th:first-child { position: static; }
  figure, tr { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
  details::details-content { content-visibility: visible; block-size: auto; }
}
"""
