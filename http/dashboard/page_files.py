"""The files of the dashboard: read once, compressed once, known to browsers by a hash.

`static/` is ours. `vendor/` is carried unchanged; `VERSIONS.json` there has versions, licences and hashes. Nothing here is a secret, so the files
need no token; the page asks the API for what it shows, with the token that its reader gives.
"""

import gzip
import hashlib
from collections.abc import Mapping
from pathlib import Path

import attrs

HERE = Path(__file__).parent
CONTENT_TYPES: Mapping[str, str] = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
}
"""Ending of a file that is served -> its type."""
INDEX = "index.html"
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:;"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


@attrs.frozen
class PageFile:
    body: bytes
    packed: bytes
    """The body compressed with gzip."""
    content_type: str
    tag: str
    """The value of `ETag`, without its quotation marks."""


def page_files() -> dict[str, PageFile]:
    """Return the files by their names."""
    paths = [path for folder in ("static", "vendor") for path in sorted((HERE / folder).iterdir())]
    return {path.name: _page_file(path) for path in paths if path.suffix in CONTENT_TYPES}


def _page_file(path: Path) -> PageFile:
    body = path.read_bytes()
    return PageFile(
        body=body,
        packed=gzip.compress(body, mtime=0),
        content_type=CONTENT_TYPES[path.suffix],
        tag=hashlib.sha256(body).hexdigest()[:32],
    )
