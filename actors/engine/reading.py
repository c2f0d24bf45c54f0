"""Reading stored parents for the routes, without the engine."""

from typing import Any

from onebroker.actors.engine.answers import parent_record
from onebroker.actors.engine.records import ParentRecord, decode_parent
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Store


async def stored_parent(store: Store, parent_id: str) -> dict[str, Any] | None:
    """Return one parent as the API shows it, finished less than 8 days ago included; None = unknown."""
    body = await store.get(keys.parent(parent_id))
    return None if body is None else parent_record(decode_parent(body))


async def open_parents(store: Store) -> list[dict[str, Any]]:
    """Return every unfinished parent, oldest first."""
    records: list[ParentRecord] = []
    for parent_id in await store.members(keys.OPEN_PARENTS):
        body = await store.get(keys.parent(parent_id))
        if body is not None:
            records.append(decode_parent(body))
    unfinished = (record for record in records if not record.state.final)
    return [parent_record(record) for record in sorted(unfinished, key=lambda record: record.created_at)]
