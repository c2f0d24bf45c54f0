"""The engine's unfinished parents, as the stream shows them: for the board of the replica's own stream, and for its route."""

from typing import Any

import msgspec

from onebroker.config.refusal import Refusal
from onebroker.http import render
from onebroker.http.live import frames
from onebroker.http.live.boards import EventBoard


class ParentEvent(msgspec.Struct, frozen=True):
    """An event of the channel `parents`."""

    event: str
    parent: dict[str, Any]


class MirroredParents:
    def __init__(self, board: EventBoard) -> None:
        self._board = board
        self._parents: dict[str, dict[str, Any]] | None = None
        """None while they are not known."""
        self._rest: dict[str, Any] = {}
        self._refused: Refusal | None = None

    def replace(self, shown: dict[str, Any]) -> None:
        """Take a snapshot: `{parents, unreadable_parents?}`."""
        self._parents = {parent["parent_order_id"]: parent for parent in shown["parents"]}
        self._rest = {name: value for name, value in shown.items() if name != "parents"}
        self._refused = None
        self._board.replace(self._snapshot)

    def refuse(self, refused: Refusal) -> None:
        """Note why there are none."""
        self._parents, self._refused = None, refused
        self._board.replace(lambda: frames.refusal("parents", refused, {"snapshot": True}))

    def take(self, events: list[msgspec.Raw]) -> None:
        """Take the events after the snapshot."""
        if self._parents is None:
            return  # a snapshot follows
        for raw in events:
            event = msgspec.json.decode(raw, type=ParentEvent)
            parent_id = event.parent["parent_order_id"]
            self._parents.pop(parent_id, None)
            if event.event != "finished":
                self._parents[parent_id] = event.parent
        self._board.publish([bytes(raw) for raw in events], self._snapshot)

    def shown(self) -> dict[str, Any]:
        """Return the route's answer, oldest parent first. Raises Refusal."""
        if self._parents is None:
            raise self._refused or LookupError("no parents were shown yet")
        parents = sorted(self._parents.values(), key=lambda parent: parent["created_at"])
        return {"parents": parents, **self._rest}

    def find(self, parent_id: str) -> dict[str, Any] | None:
        """Return an unfinished parent. Raises Refusal."""
        return next((parent for parent in self.shown()["parents"] if parent["parent_order_id"] == parent_id), None)

    def _snapshot(self) -> bytes:
        return frames.joined(b"parents", b'"snapshot":true', render.encode(self.shown())[1:-1])
