"""The option chains that clients subscribed to: each chain's newest state, encoded once for all clients. Pure.

A change of a chain is the strikes that changed, and the figures of the whole chain. A row counts as changed when anything but its age did.
"""

from collections.abc import Callable, Iterator

import attrs
import msgspec

from onebroker.actors.chain.contracts import ChainName
from onebroker.actors.chain.documents import Cell, Chain, Row
from onebroker.config.refusal import Refusal
from onebroker.http import render
from onebroker.http.live import frames


@attrs.define(eq=False)
class _Slot:
    name: ChainName
    version: int = 0
    """0 = nothing is known yet."""
    head: bytes = b""
    """The members of the chain without its rows, as JSON."""
    seen_head: object = None
    """What tells two heads apart."""
    rows: dict[float, "_Row"] = attrs.field(factory=dict)
    """By rising strike: the strikes that are shown."""
    refused: bytes | None = None
    """The message that says why there is no chain."""
    broken_at: int = 0
    """Version of the last chain after which no changes lead to the present one."""
    watchers: dict[Callable[[ChainName], None], None] = attrs.field(factory=dict)


@attrs.frozen
class _Row:
    version: int
    """Version of the chain in which the row changed last."""
    seen: Row
    encoded: bytes


class ChainBoard:
    def __init__(self) -> None:
        self._slots: dict[ChainName, _Slot] = {}
        self.on_watched: Callable[[], object] = int
        """Called when the set of watched chains changes; the feed sets it."""

    def __len__(self) -> int:
        return len(self._slots)

    def __iter__(self) -> Iterator[ChainName]:
        """Iterate over the chains that are watched at this moment."""
        return iter(tuple(self._slots))

    def watch(self, name: ChainName, mark: Callable[[ChainName], None]) -> None:
        """Call `mark(name)` whenever the chain changes."""
        slot = self._slots.get(name)
        if slot is None:
            slot = self._slots[name] = _Slot(name)
            self.on_watched()
        slot.watchers[mark] = None

    def unwatch(self, name: ChainName, mark: Callable[[ChainName], None]) -> None:
        slot = self._slots.get(name)
        if slot is not None:
            slot.watchers.pop(mark, None)
            if not slot.watchers:
                del self._slots[name]
                self.on_watched()

    def version(self, name: ChainName) -> int:
        """Return a number that grows with every change; 0 = nothing is known yet."""
        return self._slots[name].version

    def put(self, name: ChainName, chain: Chain) -> None:
        """Show a chain; its watchers are marked if it differs from what is shown."""
        slot = self._slots.get(name)
        if slot is None:
            return
        after = slot.version + 1
        rows = {row.strike_price: _row(row, slot.rows.get(row.strike_price), after) for row in chain.rows}
        head = _seen_head(chain)
        changed = any(row.version == after for row in rows.values()) or rows.keys() != slot.rows.keys()
        if not changed and head == slot.seen_head and slot.refused is None:
            return
        if slot.refused is not None:
            slot.refused, slot.broken_at = None, after
        slot.version, slot.rows, slot.seen_head = after, rows, head
        slot.head = _head(chain)
        self._mark(slot)

    def refuse(self, name: ChainName, refused: Refusal) -> None:
        """Show why there is no chain."""
        slot = self._slots.get(name)
        if slot is None:
            return
        message = frames.refusal("chain", refused, {"snapshot": True, **name_fields(name)})
        if message != slot.refused:
            slot.version += 1
            slot.refused, slot.broken_at = message, slot.version
            self._mark(slot)

    def message(self, name: ChainName, version: int) -> bytes:
        """Return the message that leads from `version` to the present state: the whole chain after version 0, else its changes."""
        slot = self._slots[name]
        if slot.refused is not None:
            return slot.refused
        whole = version < max(slot.broken_at, 1)
        rows = [row.encoded for row in slot.rows.values() if whole or row.version > version]
        named = b'"strikes":%d' % name.strikes
        flag = (b'"snapshot":true',) if whole else ()
        return frames.joined(b"chain", *flag, named, slot.head, b'"rows":[' + b",".join(rows) + b"]")

    def _mark(self, slot: _Slot) -> None:
        for mark in tuple(slot.watchers):
            mark(slot.name)


def name_fields(name: ChainName) -> dict[str, object]:
    """Return the fields by which a client knows its chain."""
    return {
        "exchange": name.exchange,
        "underlying_symbol": name.underlying_symbol,
        "expiry_date": name.expiry_date,
        "segment": name.segment,
        "strikes": name.strikes,
    }


def _row(row: Row, before: _Row | None, version: int) -> _Row:
    seen = msgspec.structs.replace(row, ce=_ageless(row.ce), pe=_ageless(row.pe))
    if before is not None and before.seen == seen:
        return before
    return _Row(version, seen, render.encode(row))


def _ageless(cell: Cell | None) -> Cell | None:
    return None if cell is None else msgspec.structs.replace(cell, age_seconds=None)


def _seen_head(chain: Chain) -> object:
    """Return what tells two chains apart besides their rows; time alone changes nothing."""
    return chain.mapping_date, chain.segment, chain.market_open, chain.forward, chain.totals, chain.rate


def _head(chain: Chain) -> bytes:
    """Return the members of a chain without its rows, with the strikes that are shown."""
    fields = {name: getattr(chain, name) for name in Chain.__struct_fields__ if name != "rows"}
    return render.encode({**fields, "shown": [row.strike_price for row in chain.rows]})[1:-1]
