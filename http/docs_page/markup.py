"""Pieces of HTML. Pure."""

import re
from collections.abc import Iterable
from html import escape


def prose(text: str) -> str:
    """Return a text of the document as HTML: a paragraph each, and words between backticks as code."""
    return "".join(f"<p>{inline(paragraph)}</p>" for paragraph in text.split("\n\n") if paragraph.strip())


def inline(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def table(titles: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Return a table of cells that are HTML already; it scrolls by itself where the window is narrow."""
    head = "".join(f"<th>{title}</th>" for title in titles)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table><tr>{head}</tr>{body}</table></div>'


def block(text: str) -> str:
    """Return a text as it stands, in lines."""
    return f"<pre><code>{escape(text)}</code></pre>"
