"""The page of a report: one file that needs nothing else, in light and dark, on phones too."""

from __future__ import annotations

import html

STYLE = """
:root { color-scheme: light dark; --paper: #fdfcf9; --ink: #1b2129; --soft: #5b6673;
        --line: #d5d9de; --wrong: #fdeaea; --red: #a3170f; --green: #0b6b43; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #15191e; --ink: #e8edf2; --soft: #a3afbb; --line: #3c444e; --wrong: #46201f;
          --red: #ff9d96; --green: #4fd39a; }
}
body { font: 16px/1.5 system-ui, sans-serif; max-width: 56rem; margin: 2rem auto; padding: 0 1rem;
       background: var(--paper); color: var(--ink); overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
td, th { padding: 0.25rem 1.2rem 0.25rem 0; text-align: left; vertical-align: baseline; }
th { font-weight: 400; font-size: 0.85rem; color: var(--soft); }
table.numbers :is(td, th):nth-child(n + 3), td.share { text-align: right; }
tr { border-bottom: 1px solid var(--line); }
tr.wrong { background: var(--wrong); color: var(--red); }
.red { color: var(--red); } .green { color: var(--green); }
svg { max-width: 100%; height: auto; }
table.class { width: 100%; }
table.class td:first-child { font-weight: 600; white-space: nowrap; }
table.class th { white-space: nowrap; }
@media (max-width: 600px) {
  table.class tr:first-child { display: none; }
  table.class tr { display: grid; grid-template-columns: 1fr auto; padding: 0.4rem 0; }
  table.class td, table.class td:first-child { padding: 0; white-space: normal; }
  table.class td:last-child { grid-column: 1 / -1; }
}
"""


def write_page(title: str, body: str) -> str:
    """Write a page.

    Examples
    --------
    >>> write_page("A & B", "<p>right</p>").splitlines()[-5:]
    ['<body>', '<h1>A &amp; B</h1>', '<p>right</p>', '</body>', '</html>']
    """
    name = html.escape(title)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{name}</title>
<style>{STYLE}</style>
</head>
<body>
<h1>{name}</h1>
{body}
</body>
</html>"""
