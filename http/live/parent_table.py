"""Unfinished parents as `GET /api/orders/parents` shows them, kept equal to what the engine's store has acknowledged. Pure."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from onebroker.actors.engine.orders.parent_records import ParentRecord
from onebroker.actors.engine.shown.parent_view import parent_record
from onebroker.http import render


class ParentEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One parent came, changed, or finished."""

    event: Literal["new", "changed", "finished"]
    previous_state: str | None
    """Null if the parent was not shown before."""
    parent: Mapping[str, Any]


class ParentTable:
    def __init__(self, shown: Mapping[str, Any]) -> None:
        """Begin from the route's answer: `{parents, unreadable_parents?}`."""
        self._parents: dict[str, Mapping[str, Any]] = {parent["parent_order_id"]: parent for parent in shown["parents"]}
        self._rest = {name: value for name, value in shown.items() if name != "parents"}

    def take(self, record: ParentRecord) -> ParentEvent | None:
        """Take a newer record and return its event; None if the record is older than the shown one, or equal to it."""
        parent_id = record.parent_order_id
        before = self._parents.get(parent_id)
        if before is not None and record.updated_at < before["updated_at"]:
            return None
        parent = parent_record(record)
        if before == parent:
            return None
        previous = None if before is None else before["state"]
        if record.state.final:
            self._parents.pop(parent_id, None)
            return ParentEvent(event="finished", previous_state=previous, parent=parent)
        self._parents[parent_id] = parent
        return ParentEvent(event="new" if before is None else "changed", previous_state=previous, parent=parent)

    def members(self) -> bytes:
        """Return the route's answer without its braces, oldest parent first."""
        parents = sorted(self._parents.values(), key=lambda parent: parent["created_at"])
        return render.encode({"parents": parents, **self._rest})[1:-1]
