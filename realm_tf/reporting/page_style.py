"""The report's style sheet, for light and dark, wide and narrow pages.

Curves take their colors from --curve-0 to --curve-7 (`curves.py`).
"""

STYLE = """
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #fff; --text: #1b2330; --muted: #5b6675;
  --line: #dfe3e9; --link: #1d56b8; --mark: #ffe59a; --good: #14713f;
  --bad: #b3261e; --bar: #cfe0fb;
  --curve-0: #2563c9; --curve-1: #d4571c; --curve-2: #188a5b;
  --curve-3: #8e44ad; --curve-4: #a87808; --curve-5: #c2306a;
  --curve-6: #1f8796; --curve-7: #6b7280;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12161c; --card: #1b2129; --text: #e6eaf0; --muted: #a0abba;
    --line: #323b47; --link: #8ab6ff; --mark: #6b5410; --good: #6bd69b;
    --bad: #ff938a; --bar: #27416b;
    --curve-0: #6ea8ff; --curve-1: #ff9a5c; --curve-2: #4fd09a;
    --curve-3: #c792ea; --curve-4: #e6b84d; --curve-5: #ff7eb0;
    --curve-6: #5fd0df; --curve-7: #a3abb8;
  }
}
* { box-sizing: border-box }
html { scroll-behavior: smooth; scroll-padding-top: 3.5rem }
body {
  margin: 0 auto; max-width: 76rem; padding: 0 1rem 4rem;
  background: var(--page); color: var(--text);
  font: 1rem/1.5 system-ui, sans-serif;
}
h1 { font-size: 1.6rem; margin: 1.5rem 0 .5rem; overflow-wrap: anywhere }
h2 { font-size: 1.25rem; margin: 2.5rem 0 .75rem }
h3 { font-size: 1rem; margin: 0 }
p { margin: .25rem 0; max-width: 46rem }
a { color: var(--link) }
code { font: .85em ui-monospace, monospace; color: var(--muted) }
mark { background: var(--mark); color: inherit; border-radius: .2em }
nav {
  position: sticky; top: 0; z-index: 1; background: var(--page);
  border-bottom: 1px solid var(--line);
}
nav ul, .legend { list-style: none; margin: 0; padding: 0 }
nav ul {
  display: flex; gap: 1.25rem; padding: .6rem 0; overflow-x: auto;
  white-space: nowrap;
}
nav a { text-decoration: none }
nav a:hover, nav a:focus-visible { text-decoration: underline }
.headlines { display: flex; flex-wrap: wrap; gap: .75rem; margin: 0 0 1rem }
.headlines div, figure, article, .scrolls {
  background: var(--card); border: 1px solid var(--line); border-radius: .6rem;
}
.headlines div { flex: 1 1 9rem; padding: .6rem .9rem }
.headlines dt { color: var(--muted); font-size: .85rem }
.headlines dd { margin: 0; font-size: 1.5rem; font-weight: 600 }
.panels {
  display: grid; gap: 1rem;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 22rem), 1fr));
}
figure {
  margin: 0; padding: .9rem 1rem; display: flex; flex-direction: column;
  justify-content: space-between; min-width: 0;
}
figcaption p { color: var(--muted); font-size: .85rem }
.legend {
  display: flex; flex-wrap: wrap; gap: 0 1rem; font-size: .85rem;
  margin: .25rem 0 .5rem;
}
.legend li { overflow-wrap: anywhere }
.swatch {
  display: inline-block; width: .7em; height: .7em; border-radius: 50%;
  background: var(--color); margin-right: .4em;
}
.curves { display: block; width: 100%; height: auto }
.curves * { stroke-linejoin: round }
.scrolls {
  overflow-x: auto; padding: .25rem .9rem; width: fit-content; max-width: 100%;
}
table { border-collapse: collapse; width: 100%; font-size: .9rem }
th, td { padding: .4rem .75rem .4rem 0; text-align: left; vertical-align: top }
thead th { color: var(--muted); font-weight: 500 }
tbody th { font-weight: 500 }
tbody tr { border-top: 1px solid var(--line) }
.long { overflow-wrap: anywhere }
.numbers td, .candidates td { font-variant-numeric: tabular-nums }
.numbers { width: auto }
.numbers :is(td, thead th + th) { text-align: right; padding-left: 1.5rem }
details { margin-top: 1rem }
summary { cursor: pointer; color: var(--link); margin-bottom: .5rem }
#examples > h3 { margin: 1.25rem 0 .5rem }
article { padding: .9rem 1rem; margin-top: 1rem }
.example { white-space: pre-line }
.query { font-size: 1.1rem; max-width: none; overflow-wrap: anywhere }
.candidates { table-layout: fixed }
.candidates th:nth-child(-n + 3) { width: 5.5rem }
.candidates td { overflow-wrap: anywhere }
.candidates td:first-child span {
  display: block; padding: 0 .3em;
  background: linear-gradient(var(--bar) 0 0) 0 / var(--share) 100% no-repeat;
}
.helps { color: var(--good) }
.hurts { color: var(--bad) }
.null { color: var(--muted); font-style: italic }
@media (max-width: 40rem) {
  .candidates tr { display: grid; grid-template-columns: repeat(3, 1fr) }
  .candidates th:nth-child(n), .candidates td { width: auto }
  .candidates :is(th, td):last-child { grid-column: 1 / -1; padding-top: 0 }
  .candidates thead th:last-child { display: none }
}
@media print {
  nav { display: none }
  figure, article { break-inside: avoid }
}
"""
