"""The stored form of slices: the hash `broker:rows:<code>:<resource>` (architecture 4). Pure.

The hash has one field per row (its id -> JSON), `:received_at` (epoch seconds as text) and `:status` (`ok`, or `unreadable: <error>`). The
session actor writes only changed rows. The session actor and the document actor read the hash at their start.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import zip_longest
from typing import Any, cast

import msgspec

from onebroker.actors.sessions.slices import Rows, Slice
from onebroker.actors.store.interface import Delete, HashSet, Op
from onebroker.actors.store.keys import Resource, broker_rows
from onebroker.brokers.records import FundsRow, HoldingRow, OrderRow, PositionRow, TradeRow

RECEIVED_AT = ":received_at"
STATUS = ":status"
_OK = b"ok"
_UNREADABLE = "unreadable: "

_ROW_IDS: dict[Resource, Callable[[Any], str]] = {
    "orders": lambda row: row.order_id,
    "trades": lambda row: f"{row.order_id}:{row.trade_id}",
    "positions": lambda row: f"{row.view}:{row.position_key}",
    "holdings": lambda row: f"{row.exchange}:{row.instrument_token}",
    "funds": lambda row: "funds",
}
_ROW_TYPES: dict[Resource, type[OrderRow | TradeRow | PositionRow | HoldingRow | FundsRow]] = {
    "orders": OrderRow,
    "trades": TradeRow,
    "positions": PositionRow,
    "holdings": HoldingRow,
    "funds": FundsRow,
}


def row_fields(
    resource: Resource, rows: Rows | None
) -> dict[str, OrderRow | TradeRow | PositionRow | HoldingRow | FundsRow]:
    """Return the rows by the name of their stored field. The second row with the same id gets the suffix `#2`, and so on."""
    if rows is None:
        return {}
    row_id = _ROW_IDS[resource]
    seen: Counter[str] = Counter()
    fields = {}
    for row in rows if isinstance(rows, tuple) else (rows,):
        name = row_id(row)
        seen[name] += 1
        fields[name if seen[name] == 1 else f"{name}#{seen[name]}"] = row
    return fields


def changes(before: Slice | None, after: Slice) -> tuple[Op, ...]:
    """Return the writes that turn the stored slice `before` into `after`: the changed rows, and always time and status.

    `before` is the last stored slice. None = not known; then the whole hash is replaced.
    """
    key = broker_rows(after.broker, after.resource)
    values = {RECEIVED_AT: repr(after.received_at).encode(), STATUS: _status(after)}
    if before is not None and before.rows is after.rows:
        return (HashSet(key, values),)
    held = row_fields(after.resource, before.rows if before else None)
    wanted = row_fields(after.resource, after.rows)
    encode = msgspec.json.encode
    values |= {name: encode(row) for name, row in wanted.items() if held.get(name) != row}
    written = HashSet(key, values, remove=tuple(name for name in held if name not in wanted))
    return (written,) if before is not None else (Delete(key), written)


def with_known_objects(before: Rows | None, after: Rows) -> Rows:
    """Return the rows read, with the objects of `before` in place of equal rows; `before` itself when nothing changed.

    So whoever follows the rows tells by identity which of them changed. Rows that stayed equal but changed their places are looked for only
    when rows came or went.
    """
    if before is not None and before == after:
        return before
    if not isinstance(before, tuple) or not isinstance(after, tuple):
        return after
    held: tuple[Any, ...] = before
    others = {row: row for row in held} if len(held) != len(after) else {}
    rows = tuple(
        [
            known if known is not None and known == row else others.get(row, row)
            for row, known in zip_longest(after, held[: len(after)])
        ]
    )
    return cast("Rows", rows)


def stored_slice(broker: str, resource: Resource, fields: Mapping[str, bytes]) -> Slice | None:
    """Return the slice in a stored hash, or None when there is none or it cannot be read (as after an upgrade).

    One unreadable row makes the whole slice unreadable: a book that lacks an order is worse than no book until the broker's next read.
    """
    if RECEIVED_AT not in fields:
        return None
    status = fields.get(STATUS, _OK).decode()
    error = status.removeprefix(_UNREADABLE) if status.startswith(_UNREADABLE) else None
    try:
        received_at = float(fields[RECEIVED_AT])
        decoder = msgspec.json.Decoder(_ROW_TYPES[resource])
        rows = tuple(decoder.decode(value) for name, value in fields.items() if name not in (RECEIVED_AT, STATUS))
    except ValueError:  # msgspec's own errors are ValueErrors
        return None
    return Slice(
        broker=broker,
        resource=resource,
        rows=None if error is not None else _as_rows(resource, rows),
        received_at=received_at,
        error=error,
    )


def _as_rows(resource: Resource, rows: tuple[Any, ...]) -> Rows | None:
    if resource == "funds":
        return rows[0] if rows else None
    return rows


def _status(slice_: Slice) -> bytes:
    return _OK if slice_.error is None else f"{_UNREADABLE}{slice_.error}".encode()
