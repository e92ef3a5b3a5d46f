"""The frame that all pages share: one HTML file that needs no network or server and permits no scripts but its own."""

import hashlib
import json
from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from typing import Any, Final

from postedit.evaluate.table import Table

_POLICY: Final = "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'; script-src "


def document(title: str, body: Iterable[str], *, styles: Sequence[str], scripts: Sequence[str]) -> str:
    """Return a self-contained HTML document.

    Args:
        title: title and heading of the document, as plain text.
        body: parts of the body, as HTML in which all data has been escaped.
        styles: names of style sheets, files of this package.
        scripts: names of scripts, likewise.
    """
    script = "".join(map(asset, scripts))
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            '<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}\'sha256-{digest}\'">',
            f"<title>{escape(title)}</title>",
            f"<style>{''.join(map(asset, styles))}</style></head>",
            f"<body><main><h1>{escape(title)}</h1>",
            *body,
            f"</main><script>{script}</script></body></html>",
            "",
        ]
    )


def asset(name: str) -> str:
    """Return the text of a file of this package."""
    return files("postedit.explain").joinpath(name).read_text(encoding="utf-8")


def data_element(values: Any) -> str:
    """Return a script element that holds values as JSON for the scripts of a page."""
    text = json.dumps(values, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    return f'<script type="application/json" id="data">{text}</script>'


def analysis(table: Table, *, is_open: bool) -> str:
    """Return a table as an HTML element that can be opened and closed, with the table's name as its summary."""
    head = "".join(f'<th scope="col" class="label">{escape(name)}</th>' for name in table.keys)
    head += "".join(f'<th scope="col">{escape(column.name)}</th>' for column in table.columns)
    body = []
    for row in table.rows:
        cells = table.cells(row)
        labels = "".join(f'<th scope="row">{escape(label)}</th>' for label in cells[: len(table.keys)])
        body.append(f"<tr>{labels}{''.join(f'<td>{escape(cell)}</td>' for cell in cells[len(table.keys) :])}</tr>")
    name = escape(table.title)
    return f"""<details class="analysis"{" open" if is_open else ""}><summary><h2>{name}</h2></summary>
<figure class="table"><div class="scroll" tabindex="0" role="region" aria-label="{name}"><table>
<thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table></div>
<figcaption>{escape(table.note)}</figcaption></figure>
</details>"""
