"""The report's stylesheet: one readable column, light or dark as the reader's system is, good on paper.

Tables scroll by themselves, their first column stays. Figures are drawn for white paper: in the dark they are inverted,
white into the sections' own ground, and their hues turned back.
"""

from __future__ import annotations

from fedtext.reporting.figure_style import FONT, INK, MUTED, RULE, SYNTHETIC

STYLESHEET = f"""
:root {{ color-scheme: light dark; --ground: #f6f8fa; --paper: #ffffff; --ink: {INK}; --muted: {MUTED}; --rule: {RULE};
  --accent: {SYNTHETIC}; --strong: #eef5fc; --shade: rgba(0,0,0,0.16); }}
@media (prefers-color-scheme: dark) {{
  :root {{ --ground: #101214; --paper: #1a1a1a; --ink: #e4e7eb; --muted: #9aa5b1; --rule: #363d44; --accent: #5aa9f5;
    --strong: #1c2b3a; --shade: rgba(0,0,0,0.7); }}
  figure .js-plotly-plot {{ filter: invert(0.9) hue-rotate(180deg); }}
}}
* {{ box-sizing: border-box; }}
body {{ margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.6 {FONT}; }}
main {{ max-width: 64rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }}
h1 {{ font-size: 1.75rem; line-height: 1.25; margin: 0 0 1.25rem; letter-spacing: -0.01em; overflow-wrap: anywhere; }}
h2 {{ font-size: 1.2rem; margin: 0 0 1rem; }}
p, li, dd, figcaption {{ max-width: 44rem; }}
.lead {{ border-left: 4px solid var(--accent); padding: 0.25rem 0 0.25rem 1.25rem; margin-bottom: 1rem; }}
.lead p {{ font-size: 1.125rem; margin: 0 0 0.6rem; }}
.lead p:last-child, .notes p {{ margin: 0; }}
.notes {{ color: var(--muted); font-size: 0.875rem; padding-left: calc(1.25rem + 4px); margin-bottom: 2rem; }}
section {{ background: var(--paper); border: 1px solid var(--rule); border-radius: 10px; padding: 1.5rem;
  margin: 0 0 1.5rem; }}
abbr[title] {{ text-decoration: underline dotted var(--muted); text-underline-offset: 0.2em; cursor: help; }}
dl {{ margin: 0; }}
dt {{ font-weight: 600; }}
dd {{ margin: 0 0 0.6rem; color: var(--muted); }}
/* A shade at the right edge wherever there is more to scroll to. */
.scroll {{ overflow-x: auto; background: linear-gradient(to left, var(--paper) 40%, transparent) right / 3rem 100%
    no-repeat local, linear-gradient(to left, var(--shade), transparent) right / 1rem 100% no-repeat scroll; }}
figure {{ margin: 0; }}
figure + figure, figure + .scroll, .scroll + figure {{ margin-top: 1.5rem; }}
figure > .scroll {{ background: none; }}
figure > .scroll > div {{ min-width: 26rem; }}
figcaption {{ color: var(--muted); font-size: 0.875rem; }}
table {{ border-collapse: collapse; width: 100%; font-size: 0.875rem; line-height: 1.4; }}
caption {{ text-align: left; color: var(--muted); padding: 0 0 0.5rem; }}
caption span {{ display: block; max-width: calc(100vw - 6rem); }}
th, td {{ padding: 0.5rem 0.45rem; border-bottom: 1px solid var(--rule); text-align: right; white-space: nowrap; }}
th:first-child, .words td, .words th {{ text-align: left; }}
th:first-child {{ position: sticky; left: 0; background: var(--paper); }}
.words td {{ white-space: normal; overflow-wrap: anywhere; }}
thead th {{ color: var(--muted); font-weight: 600; vertical-align: bottom; white-space: normal; }}
tbody th {{ font-weight: 400; white-space: normal; }}
td {{ font-variant-numeric: tabular-nums; }}
tr.strong > * {{ font-weight: 650; background: var(--strong); }}
.scroll + .scroll, .scroll + p {{ margin-top: 1.5rem; }}
.samples {{ padding-left: 1.5rem; margin: 0; }}
.samples li {{ margin: 0 0 0.75rem; }}
.class {{ color: var(--muted); font-size: 0.875rem; }}
blockquote {{ margin: 0; padding: 0.6rem 0.9rem; background: var(--ground); border-radius: 6px; white-space: pre-wrap;
  overflow-wrap: anywhere; font: 0.8125rem/1.5 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }}
@media (max-width: 40rem) {{
  main {{ padding: 1.5rem 0.75rem 3rem; }}
  section {{ padding: 1rem; }}
  caption span {{ max-width: calc(100vw - 3.5rem); }}
  th, td {{ padding: 0.4rem 0.35rem; }}
  td {{ white-space: normal; min-width: 3.5rem; }}
  th:first-child {{ white-space: normal; min-width: 7.5rem; }}
  .words td {{ min-width: 5.5rem; }}
}}
@media print {{ body {{ background: white; }} section {{ break-inside: avoid; border: 0; padding: 0; }} }}
"""
