"""The published state of the reference actor, and the routes' answers from it (rules 1.2.6, 1.4.3). Plain values and functions."""

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import msgspec

from onebroker.actors.store import keys
from onebroker.actors.store.durable import Collection
from onebroker.config.messages import reference as sentences
from onebroker.config.refusal import Refusal

COLLECTIONS: tuple[Collection, ...] = ("users", "brokers", "exchanges")


@attrs.frozen(kw_only=True)
class Documents:
    """One collection in the form in which it is served."""

    count: int
    body: bytes = attrs.field(repr=False)
    """JSON array of objects, in the order of the import."""


@attrs.frozen(kw_only=True)
class ReferenceState:
    documents: Mapping[Collection, Documents] = attrs.field(factory=dict)
    """A collection is absent if neither store could be read for it since the start."""
    profiles: bytes | None = attrs.field(default=None, repr=False)
    """JSON object with every broker's code: its profile body or null.

    None = unavailable: the store that holds the profiles cannot be read, or holds none.
    """
    trouble: str | None = None
    """Why the last reading was incomplete, in a sentence without contents."""


def join_documents(documents: Sequence[bytes]) -> Documents | None:
    """Return stored documents as one array; None when they are not JSON objects."""
    return read_array(b"[" + b",".join(documents) + b"]")


def read_array(body: bytes) -> Documents | None:
    """Return a stored array of objects; None when it is unreadable."""
    try:
        count = len(msgspec.json.decode(body, type=list[dict[str, Any]]))
    except (ValueError, RecursionError):  # msgspec's errors and wrong UTF-8 are ValueErrors
        return None
    return Documents(count=count, body=body)


def join_profiles(stored: Mapping[str, bytes | None]) -> bytes | None:
    """Return `broker_profiles` from code -> stored body; a body that is not a JSON object counts as no profile.

    None when no broker has a profile: then the value as a whole is unavailable (rules 1.2.6).
    """
    bodies = {code: _object_or_none(body) for code, body in stored.items()}
    if not any(body is not None for body in bodies.values()):
        return None
    return msgspec.json.encode({code: None if body is None else msgspec.Raw(body) for code, body in bodies.items()})


def _object_or_none(body: bytes | None) -> bytes | None:
    try:
        found = None if body is None else msgspec.json.decode(body, type=dict[str, Any])
    except (ValueError, RecursionError):
        return None
    return body if found else None


def collection_body(state: ReferenceState, collection: Collection) -> bytes:
    """Return the answer of the brokers' or the exchanges' route. Raises Refusal 404 (empty), 503 (never read)."""
    documents = _known(state, collection)
    if not documents.count:
        raise Refusal(404, sentences.NOT_FOUND[collection])
    return documents.body


def user_body(state: ReferenceState) -> bytes:
    """Return the answer of the users' route. Raises Refusal 404 (no user document and no profile), 503 (never read)."""
    users = _known(state, "users")
    if not users.count and state.profiles is None:
        raise Refusal(404, sentences.NOT_FOUND["users"])
    profiles = b"null" if state.profiles is None else state.profiles
    return b'{"user_details":' + users.body + b',"broker_profiles":' + profiles + b"}"


def _known(state: ReferenceState, collection: Collection) -> Documents:
    documents = state.documents.get(collection)
    if documents is None:
        raise Refusal(503, sentences.unreadable(collection, keys.reference(collection)))
    return documents
