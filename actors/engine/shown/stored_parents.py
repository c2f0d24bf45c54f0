"""Reads stored parents and kept answers for the routes, without the engine. All functions raise StoreError."""

import math
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

import attrs
import msgspec

from onebroker.actors.engine.orders.intents import ANSWERED
from onebroker.actors.engine.orders.parent_records import ParentRecord, decode_parent
from onebroker.actors.engine.shown.parent_view import parent_record
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Store
from onebroker.config.converters import StructureError


class Unreadable(Exception):
    """A stored value cannot be read as what it should be (written by another version, or damaged)."""


class KeptAnswer(msgspec.Struct, frozen=True):
    """The answer to a place, as `answers.encode` wrote it."""

    status: int
    response: msgspec.Raw
    """The body, as JSON."""


@attrs.frozen
class Waiting:
    """The intent was taken up and has no answer yet."""


Found: TypeAlias = KeptAnswer | Waiting | None


async def stored_parent(store: Store, parent_id: str) -> dict[str, Any] | None:
    """Return one parent as the API shows it, also one that finished less than 8 days ago; None = unknown. Raises Unreadable."""
    record = await stored_record(store, parent_id)
    return None if record is None else parent_record(record)


async def open_parents(store: Store) -> dict[str, Any]:
    """Return every unfinished parent, oldest first, under `parents`.

    An unreadable parent does not hide the others: its id is under `unreadable_parents`, a key that exists only in that case.
    """
    records: list[ParentRecord] = []
    unreadable: list[str] = []
    for parent_id in sorted(await store.members(keys.OPEN_PARENTS)):
        try:
            record = await stored_record(store, parent_id)
        except Unreadable:
            unreadable.append(parent_id)
        else:
            if record is not None and not record.state.final:
                records.append(record)
    shown = {"parents": [parent_record(record) for record in sorted(records, key=lambda record: record.created_at)]}
    return {**shown, "unreadable_parents": unreadable} if unreadable else shown


class End(NamedTuple):
    """The end of a parent: its place in the list of a day's ended parents."""

    at: float
    """Epoch seconds."""
    parent_id: str

    def text(self) -> str:
        return f"{self.at:.3f} {self.parent_id}"


def read_end(text: str) -> End | None:
    """Return the end that a cursor, or an entry of the list, names; None if it names none."""
    at, _, parent_id = text.partition(" ")
    try:
        end = End(float(at), str(UUID(parent_id)))
    except ValueError:
        return None
    return end if math.isfinite(end.at) and end.text() == text else None


@attrs.frozen
class EndedPage:
    """A page of the parents that ended on a day, the newest end first."""

    parents: list[dict[str, Any]]
    unreadable: list[str]
    """Ids of records of the page that cannot be read."""
    last: End | None
    """The last entry that the page looked at; None = it looked at none."""
    more: bool


async def ended_parents(store: Store, day: str, *, limit: int, after: End | None) -> EndedPage:
    """Return up to `limit` parents that ended on broking day `day` (YYYY-MM-DD), the newest first, or those after an entry."""
    ends = {end for entry in await store.members(keys.ended_parents(day)) if (end := read_end(entry)) is not None}
    newest: dict[str, End] = {}
    for end in sorted(ends):
        newest[end.parent_id] = end
    listed = sorted((end for end in newest.values() if after is None or end < after), reverse=True)
    page = EndedPage([], [], listed[:limit][-1] if listed else None, len(listed) > limit)
    for end in listed[:limit]:
        try:
            record = await stored_record(store, end.parent_id)
        except Unreadable:
            page.unreadable.append(end.parent_id)
        else:
            if record is not None:
                page.parents.append(parent_record(record))
    return page


async def kept_answer(store: Store, intent_id: str, *, now: float, keep_seconds: float) -> Found:
    """Return the answer kept for an intent; None = no answer is kept (never taken up, or answered more than `keep_seconds` ago).

    `now` in epoch seconds. The answer and the parent's note of it are written in two lanes of the store. A noted answer that is not there yet is
    therefore still waited for while it could arrive. Raises Unreadable.
    """
    written = await store.get(keys.answer(intent_id))
    if written is not None:
        return _answer(written)
    parent_id = await store.get(keys.started(intent_id))
    record = await stored_record(store, parent_id.decode()) if parent_id not in (None, ANSWERED) else None
    if record is None:
        return None
    written = await store.get(keys.answer(intent_id))  # it may have been written in between
    if written is not None:
        return _answer(written)
    if record.intent_id != intent_id:
        return Waiting()  # a change of this parent, which is marked when it is answered
    return Waiting() if not record.answered or now < record.deadline + keep_seconds else None


def _answer(written: bytes) -> KeptAnswer:
    try:
        return msgspec.json.decode(written, type=KeptAnswer)
    except msgspec.MsgspecError as error:
        raise Unreadable("a kept answer") from error


async def stored_record(store: Store, parent_id: str) -> ParentRecord | None:
    """Return a parent as it is stored; None = unknown. Raises Unreadable."""
    written = await store.get(keys.parent(parent_id))
    try:
        return None if written is None else decode_parent(written)
    except StructureError as error:
        raise Unreadable(f"parent {parent_id}") from error
