"""The report's stylesheet: one readable column, tables that scroll by themselves, good on paper."""

from __future__ import annotations

from fedtext.reporting.figure_style import FONT, INK, MUTED, RULE, SYNTHETIC

STYLESHEET = f"""
:root {{ color-scheme: light; }}
* {{ box-sizing: border-box; }}
body {{ margin: 0; background: #f6f8fa; color: {INK}; font: 16px/1.6 {FONT}; }}
main {{ max-width: 64rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }}
h1 {{ font-size: 1.75rem; line-height: 1.25; margin: 0 0 1.25rem; letter-spacing: -0.01em; }}
h2 {{ font-size: 1.2rem; margin: 0 0 1rem; }}
p, li, figcaption {{ max-width: 44rem; }}
.lead {{ border-left: 4px solid {SYNTHETIC}; padding: 0.25rem 0 0.25rem 1.25rem; margin-bottom: 2rem; }}
.lead p {{ font-size: 1.125rem; margin: 0 0 0.6rem; }}
.lead p:last-child {{ margin: 0; }}
section {{ background: white; border: 1px solid {RULE}; border-radius: 10px; padding: 1.5rem; margin: 0 0 1.5rem; }}
.scroll {{ overflow-x: auto; }}
figure {{ margin: 1.5rem 0 0; }}
figure > .scroll > div {{ min-width: 42rem; }}
figcaption {{ color: {MUTED}; font-size: 0.875rem; }}
table {{ border-collapse: collapse; width: 100%; font-size: 0.875rem; line-height: 1.4; }}
caption {{ text-align: left; color: {MUTED}; padding: 0 0 0.5rem; }}
caption span {{ display: block; max-width: calc(100vw - 6rem); }}
th, td {{ padding: 0.5rem 0.45rem; border-bottom: 1px solid {RULE}; text-align: right; white-space: nowrap; }}
th:first-child, .words td, .words th {{ text-align: left; }}
.words td {{ white-space: normal; }}
thead th {{ color: {MUTED}; font-weight: 600; vertical-align: bottom; white-space: normal; }}
tbody th {{ font-weight: 400; white-space: normal; }}
td {{ font-variant-numeric: tabular-nums; }}
tr.strong > * {{ font-weight: 650; background: #eef5fc; }}
.scroll + .scroll, .scroll + p {{ margin-top: 1.5rem; }}
.samples {{ padding-left: 1.5rem; margin: 0; }}
.samples li {{ margin: 0 0 0.75rem; }}
blockquote {{ margin: 0; padding: 0.6rem 0.9rem; background: #f6f8fa; border-radius: 6px; white-space: pre-wrap;
  overflow-wrap: anywhere; font: 0.8125rem/1.5 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }}
@media (max-width: 40rem) {{
  main {{ padding: 1.5rem 0.75rem 3rem; }}
  section {{ padding: 1rem; }}
  caption span {{ max-width: calc(100vw - 3.5rem); }}
  th, td {{ padding: 0.4rem 0.45rem; }}
  th:first-child {{ white-space: normal; min-width: 9rem; }}
}}
@media print {{ body {{ background: white; }} section {{ break-inside: avoid; border: 0; padding: 0; }} }}
"""
