"""The addresses of Kotak Neo's scrip files of a day: from the broker's list, else in the folder of today's date.

Source: docs/brokers/kotakneo.md, section 4; neo_api_client 3.0.9, `scrip_master`. The list needs the access token of the
settings, no login. On a morning when today's folder does not exist yet, composed addresses alone would find nothing.
"""

from collections.abc import Mapping
from datetime import datetime
from pathlib import PurePosixPath
from urllib.parse import urljoin, urlsplit

from onebroker.brokers.broker import Access, ReadFlow
from onebroker.brokers.codec.fields import part, row_of, text
from onebroker.brokers.codec.instrument_files import is_missing
from onebroker.brokers.kotakneo import wire
from onebroker.brokers.requests import BadAnswer, CallKind, WireRequest, WireResponse
from onebroker.config.clock import IST

FILES = (
    "transformed-v1/nse_cm-v1.csv", "transformed-v1/bse_cm-v1.csv", "transformed/nse_fo.csv", "transformed/bse_fo.csv",
    "transformed/cde_fo.csv", "transformed/mcx_fo.csv", "transformed/nse_com.csv",
)  # fmt: skip
"""Paths below the folder of a day."""


def file_requests(access: Access, now: datetime) -> ReadFlow:
    """Ask for the list of the files, then for each file; a file that the list does not name is requested in today's folder."""
    response = yield wire.open_request(access, CallKind.READ, wire.FILE_PATHS)
    listed = _listed(response, urlsplit(access.endpoints.instruments_url).scheme)
    folder = f"{access.endpoints.instruments_url.rstrip('/')}/{now.astimezone(IST).date()}"
    for name in FILES:
        url = listed.get(_kind(name), f"{folder}/{name}")
        yield WireRequest(kind=CallKind.FILE, method="GET", url=url)


def _listed(response: WireResponse | None, scheme: str) -> Mapping[str, str]:
    """Return the addresses in the list by kind of file; none where the call failed or its answer is not the list."""
    if response is None or is_missing(response.body) or response.status != 200:
        return {}
    try:
        told = part(row_of(response.json()), "data")
    except BadAnswer:
        return {}
    paths, base = told.get("filesPaths"), text(told.get("baseFolder")) or ""
    if not isinstance(paths, list):
        return {}
    urls = [_address(base, path, scheme) for path in paths if isinstance(path, str)]
    return {_kind(url): url for url in reversed(urls) if url is not None}


def _kind(path: str) -> str:
    """Return the segment of a file: its name without version and ending."""
    return PurePosixPath(urlsplit(path).path).stem.lower().removesuffix("-v1")


def _address(base: str, path: str, scheme: str) -> str | None:
    """Return the full address of a path; None where it is not the address of a table, or would leave TLS."""
    try:
        url = urljoin(f"{base.rstrip('/')}/", path)
        parts = urlsplit(url)
    except ValueError:
        return None
    usable = parts.hostname and parts.scheme in {"https", scheme} and parts.path.endswith(".csv")
    return url if usable else None
