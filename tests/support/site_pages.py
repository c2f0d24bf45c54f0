"""The documentation site's view of the repository: a hook of mkdocs (`mkdocs.yml`). It imports nothing of mkdocs.

The site also has the pages that lie outside docs/ (README.md, ARCHITECTURE.md and so on). Links between pages lead to each other in
the site as they do in the repository. A file that is no page of the site, such as a module, has no address there: its link becomes plain text.
"""

import posixpath
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FOLDER = "docs"

OUTSIDE: Mapping[str, str] = {
    "README.md": "repository/readme.md",
    "ARCHITECTURE.md": "repository/architecture.md",
    "CHANGELOG.md": "repository/changes.md",
    "CONTRIBUTING.md": "repository/contributing.md",
    "SECURITY.md": "repository/security.md",
    "bench/README.md": "repository/bench.md",
    "clients/python/README.md": "repository/python-client.md",
}
"""Page outside docs/ -> its place in the site."""
_REPOSITORY = {place: page for page, place in OUTSIDE.items()}

_FENCED = re.compile(r"(^ *```.*?^ *```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)")
_NAMED = re.compile(r"^(\[[^\[\]]+\]:) (\S+)$", re.MULTILINE)
_INDENTED = re.compile(r"^ {2,3}(?=\S)", re.MULTILINE)


def site_text(page: str, text: str) -> str:
    """Return a page of the repository (path from its root) as the site takes it."""
    parts = _FENCED.split(text)
    return "".join(part if number % 2 else _prose(page, part) for number, part in enumerate(parts))


def _prose(page: str, text: str) -> str:
    # mkdocs wants four spaces below a list's item, where the repository's pages have two or three.
    linked = _LINK.sub(lambda link: _linked(page, link), _INDENTED.sub("    ", text))
    return _NAMED.sub(lambda named: f"{named[1]} {_address(page, named[2]) or named[2]}", linked)


def _linked(page: str, link: re.Match[str]) -> str:
    image, words, target = link.groups()
    address = _address(page, target)
    if address is not None:
        return f"{image}[{words}]({address})"
    named = _named(page, target)
    return words if words.strip("`") == named else f"{words} (`{named}`)"


def _address(page: str, target: str) -> str | None:
    """Return a link's target as the site has it; None = the site does not have it."""
    path, mark, anchor = target.partition("#")
    if not path or ":" in path:
        return target
    place = site_place(_named(page, path))
    here = posixpath.dirname(site_place(page) or "")
    return None if place is None else f"{posixpath.relpath(place, here or '.')}{mark}{anchor}"


def _named(page: str, target: str) -> str:
    """Return the path from the repository's root of what a page links to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), target.partition("#")[0]))


def site_place(path: str) -> str | None:
    """Return where the site has a file of the repository; None = the site does not have the file."""
    if path in OUTSIDE:
        return OUTSIDE[path]
    if (ROOT / path).is_dir():
        pages = (posixpath.join(path, name) for name in ("index.md", "README.md"))
        return next((site_place(page) for page in pages if (ROOT / page).exists()), None)
    return path.removeprefix(f"{FOLDER}/") if path.startswith(f"{FOLDER}/") else None


_SEARCH = 'data-md-component="search" role="dialog"'
"""The dialog of the theme, which has no name for those who hear the page."""


# What mkdocs calls


def on_files(files: Any, *, config: Any) -> Any:
    """Add the pages outside docs/."""
    from mkdocs.structure.files import File

    for page, place in OUTSIDE.items():
        files.append(File.generated(config, place, content=(ROOT / page).read_text()))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """Bring a page's links and lists into the form that the site needs."""
    place = page.file.src_uri
    return site_text(_REPOSITORY.get(place, f"{FOLDER}/{place}"), markdown)


def on_post_page(output: str, *, page: Any, config: Any) -> str:
    """Give the search a name."""
    return output.replace(_SEARCH, f'{_SEARCH} aria-label="Search"')
