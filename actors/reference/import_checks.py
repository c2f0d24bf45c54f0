"""Checks the input of `onebroker import` (architecture 11): a JSON array of documents, checked as a whole before anything is written.

Plain functions; the command reads the file and writes the store. Every refusal is a StructureError with one line for each error. A
line names the document by its place (from 1) and the field by its path. It quotes nothing from a user's document.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from onebroker.actors.reference.exchange_import import checked_exchanges
from onebroker.actors.store.durable import Collection
from onebroker.config.converters import StructureError, nearest

MOST_FILE_BYTES = 16 * 1024 * 1024
MOST_DOCUMENT_BYTES = 1024 * 1024
"""Limit for one stored document: all documents are held in memory and sent with every answer."""
MOST_DOCUMENTS = 1000

INTERNAL_ID = "_id"
"""A document store's own id, in exported files; it is never served (rules 1.2.6), so it is not stored either."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

Document = dict[str, Any]


def prepare(
    collection: Collection, body: bytes, *, codes_by_name: Mapping[str, str], now: datetime
) -> tuple[Document, ...]:
    """Return the documents of a file's `body` in their stored form.

    `codes_by_name`: display name -> broker code. `now` is the copy time for exchange documents that do not give one.
    Raises StructureError.
    """
    documents = [_without_internal_ids(document) for document in _read(body)]
    checks: dict[Collection, Callable[[], list[Document]]] = {
        "users": lambda: documents,
        "brokers": lambda: _with_codes(documents, codes_by_name),
        "exchanges": lambda: checked_exchanges(documents, now),
    }
    return tuple(checks[collection]())


def encode(documents: Iterable[Document]) -> tuple[bytes, ...]:
    """Return each document in its stored form. Raises StructureError when a document is too large."""
    encoded = tuple(msgspec.json.encode(document) for document in documents)
    problems = [
        f"document {number} has {len(body)} bytes; at most {MOST_DOCUMENT_BYTES} are taken"
        for number, body in enumerate(encoded, start=1)
        if len(body) > MOST_DOCUMENT_BYTES
    ]
    if problems:
        raise StructureError(problems)
    return encoded


def _read(body: bytes) -> list[Document]:
    if len(body) > MOST_FILE_BYTES:
        raise StructureError([f"the file has more than the {MOST_FILE_BYTES} bytes that are taken"])
    try:
        read = msgspec.json.decode(body.removeprefix(_BYTE_ORDER_MARK))
    except UnicodeDecodeError:
        raise StructureError(["the file is not UTF-8 text"]) from None
    except msgspec.MsgspecError as error:
        # The parser's error names the place, never the text there.
        raise StructureError([f"the file is not JSON: {error}"]) from None
    except RecursionError:
        raise StructureError(["the file is nested too deeply"]) from None
    if not isinstance(read, list):
        raise StructureError(["the file must be a JSON array of documents"])
    if len(read) > MOST_DOCUMENTS:
        raise StructureError([f"the file has {len(read)} documents; at most {MOST_DOCUMENTS} are taken"])
    problems = [
        f"document {number} must be an object" for number, document in _numbered(read) if not isinstance(document, dict)
    ]
    if problems:
        raise StructureError(problems)
    return read


def _numbered(documents: Iterable[Any]) -> Iterable[tuple[int, Any]]:
    return enumerate(documents, start=1)


def _without_internal_ids(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_internal_ids(inner) for name, inner in value.items() if name != INTERNAL_ID}
    if isinstance(value, list):
        return [_without_internal_ids(inner) for inner in value]
    return value


def _with_codes(documents: list[Document], codes_by_name: Mapping[str, str]) -> list[Document]:
    """Return broker documents with `broker_name`, the code for their display name; one unknown name stops the import."""
    codes = {name.casefold(): code for name, code in codes_by_name.items()}
    first: dict[str, int] = {}
    problems: list[str] = []
    done: list[Document] = []
    for number, document in _numbered(documents):
        name = document.get("name")
        code = codes.get(name.casefold()) if isinstance(name, str) else None
        problem = _broker_problem(document, code, first, codes_by_name)
        if code is None or problem is not None:
            problems.append(f"document {number}: {problem}")
            continue
        first[code] = number
        done.append({"broker_name": code, **document})
    if problems:
        raise StructureError(problems)
    return done


def _broker_problem(
    document: Document, code: str | None, first: Mapping[str, int], codes_by_name: Mapping[str, str]
) -> str | None:
    name = document.get("name")
    if "name" not in document:
        return "name is required"
    if not isinstance(name, str):
        return "name must be text"
    if code is None:
        return f"name must be one of {', '.join(codes_by_name)}{nearest(name, codes_by_name)}"
    if document.get("broker_name", code) != code:
        return f"broker_name must be {code}, which its name stands for, or absent"
    if code in first:
        return f"name stands for {code}, as that of document {first[code]} does"
    return None
