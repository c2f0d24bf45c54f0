"""The current values of a resting order, and whether a change of it can be sent (order-engine 5.6). Desk and parents share it; it asks nobody.

A broker's book may not show an accepted change yet. Several brokers receive the whole order with its new values. A second change
built from such an old row would undo the first one.
"""

from collections.abc import Hashable
from decimal import Decimal
from typing import Any

import attrs
import msgspec

from onebroker.actors.catalogue.interface import Instrument, Snapshot
from onebroker.actors.engine.orders.parent_records import LegChange
from onebroker.brokers.broker import Capabilities, OrderChange, remaining_units
from onebroker.brokers.records import Listing, OrderRow
from onebroker.config.instruments import calendar_of
from onebroker.config.messages import order_changes as texts
from onebroker.config.messages import orders as place_texts
from onebroker.config.money import exact, is_multiple, on_tick, plain
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import OrderType

PRICES = ("price", "trigger_price")
RUNS_BEHIND_SECONDS = 10.0
"""A book read that begins this long after a change was accepted is the truth, whatever it shows."""


@attrs.frozen
class _Accepted:
    change: LegChange
    before: OrderRow
    since: float


class AcceptedChanges:
    """Changes that brokers accepted, put into rows that do not show them yet. Times are monotonic seconds."""

    def __init__(self) -> None:
        self._accepted: dict[Hashable, _Accepted] = {}

    def note(self, key: Hashable, before: OrderRow, change: LegChange, now: float) -> None:
        """Note that the order whose row was `before` has been changed."""
        self._accepted[key] = _Accepted(change, before, now)

    def standing(self, key: Hashable, row: OrderRow, read_began: float | None) -> OrderRow:
        """Return the order's current values. A field that the book still shows with its old value gets its new value."""
        held = self._accepted.get(key)
        if held is None:
            return row
        if read_began is not None and read_began >= held.since + RUNS_BEHIND_SECONDS:
            del self._accepted[key]
            return row
        behind = {
            name: value
            for name, value in held.change.given().items()
            if getattr(row, name) == getattr(held.before, name)
        }
        return changed_row(row, LegChange(**behind))


def changed_row(row: OrderRow, change: LegChange) -> OrderRow:
    """Return the row with the new values in it."""
    values = {name: float(value) if name in PRICES else value for name, value in change.given().items()}
    return msgspec.structs.replace(row, **values)


def shows(row: OrderRow, change: LegChange) -> bool:
    """Whether the row has all the new values."""
    return not needed(row, change).given()


def needed(row: OrderRow, change: LegChange) -> LegChange:
    """Return the values of a change that differ from the order's current values."""
    return LegChange(**{name: value for name, value in change.given().items() if value != _stands(row, name)})


def shown_changes(row: OrderRow, change: LegChange) -> dict[str, dict[str, Any]]:
    """Return `changes` of an answer: field -> {from, to}. `from` is null where the order has no such price."""
    return {name: {"from": _shown(row, name), "to": value} for name, value in change.given().items()}


def _stands(row: OrderRow, name: str) -> object:
    value = getattr(row, name)
    return exact(value) if name in PRICES else value


def _shown(row: OrderRow, name: str) -> object:
    value = getattr(row, name)
    return None if name in PRICES and not value else value


# --- what a change must be ------------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class Target:
    """The order to change, and its instrument if known."""

    broker: str
    capabilities: Capabilities
    row: OrderRow
    """The order's current values."""
    instrument: Instrument | None
    """None when the broker's token names no instrument, or more than one."""

    @property
    def listing(self) -> Listing:
        """Return how the broker names the instrument: from its file, else from its own order book."""
        known = None if self.instrument is None else self.instrument.listings.get(self.broker)
        row = self.row
        return known or Listing(
            broker_token=row.instrument_token,
            tradingsymbol=row.tradingsymbol,
            exchange=row.exchange,
            contract_units=row.contract_units,
        )

    def order_change(self, change: LegChange) -> OrderChange:
        """Return the change in the form that the broker's codec takes."""
        segment = "" if self.instrument is None else self.instrument.identity.segment
        return OrderChange(row=self.row, listing=self.listing, segment=segment, **change.given())


def instrument_of(snapshot: Snapshot | None, broker: str, token: str) -> Instrument | None:
    """Return the one instrument that a broker's token names."""
    instrument_id = None if snapshot is None else snapshot.by_token(broker, token)
    return None if snapshot is None or instrument_id is None else snapshot.instrument(instrument_id)


def instrument_fields(snapshot: Snapshot | None, instrument_id: str) -> dict[str, Any] | None:
    """Return the nine identity fields of an instrument, None when it is not mapped."""
    instrument = None if snapshot is None else snapshot.instrument(instrument_id)
    return None if instrument is None else instrument.identity.fields()


def check(target: Target, change: LegChange) -> LegChange:
    """Return the values to send; empty when the order has them already. Raises Refusal 400 and 501."""
    row = target.row
    order_type = change.order_type or row.order_type
    if order_type in tuple(OrderType):
        _check_prices(OrderType(order_type), row, change)
    _check_quantities(row, change)
    _check_lots(target, change)
    changes = needed(row, _disclosing_no_more(row, _in_ticks(target.instrument, change)))
    for name in changes.given():
        if name not in target.capabilities.modifiable:
            raise Refusal(501, texts.cannot_change(target.broker, name))
    return changes


def _check_prices(order_type: OrderType, row: OrderRow, change: LegChange) -> None:
    """Apply the rules of a place to the order after the change. The broker judges the values that the change leaves alone."""
    price = exact(row.price) if change.price is None else change.price
    trigger = exact(row.trigger_price) if change.trigger_price is None else change.trigger_price
    retyped = change.order_type is not None
    if order_type.takes_price and not price and (retyped or change.price is not None):
        raise Refusal(400, place_texts.needs_price(order_type))
    if not order_type.takes_price and change.price is not None:
        raise Refusal(400, place_texts.takes_no_price(order_type))
    if order_type.takes_trigger and not trigger and (retyped or change.trigger_price is not None):
        raise Refusal(400, place_texts.needs_trigger(order_type))
    if not order_type.takes_trigger and change.trigger_price is not None:
        raise Refusal(400, place_texts.takes_no_trigger(order_type))


def _check_quantities(row: OrderRow, change: LegChange) -> None:
    quantity = row.quantity if change.quantity is None else change.quantity
    disclosed = row.disclosed_quantity if change.disclosed_quantity is None else change.disclosed_quantity
    if change.quantity is not None and change.quantity < row.filled_quantity:
        raise Refusal(400, texts.below_filled(row.filled_quantity))
    if disclosed > quantity and (change.quantity is not None or change.disclosed_quantity is not None):
        raise Refusal(400, place_texts.DISCLOSED_ABOVE)


def _disclosing_no_more(row: OrderRow, change: LegChange) -> LegChange:
    """Return the change with a given disclosed quantity of at most what remains unfilled: this is what the codec sends
    (`OrderChange.disclosed_after`), so that the record, the answer and a later look at the row agree with the message."""
    if change.disclosed_quantity is None:
        return change
    return attrs.evolve(
        change, disclosed_quantity=min(change.disclosed_quantity, remaining_units(row, change.quantity))
    )


def _check_lots(target: Target, change: LegChange) -> None:
    lot = target.listing.lot_size
    if not lot:
        return
    given = {"quantity": change.quantity}
    if target.instrument is not None and calendar_of(target.instrument.identity.segment) != "equity":
        given["disclosed_quantity"] = change.disclosed_quantity
    for name, value in given.items():
        if value is not None and not is_multiple(Decimal(value), Decimal(lot)):
            raise Refusal(400, place_texts.whole_lots(name, lot))


def _in_ticks(instrument: Instrument | None, change: LegChange) -> LegChange:
    """Return the change with its prices in whole ticks, exactly (`on_tick`)."""
    if instrument is None or not instrument.tick_size:
        return change
    tick = exact(instrument.tick_size)

    def exactly(name: str, value: Decimal | None) -> Decimal | None:
        found = None if value is None else on_tick(value, tick)
        if value is not None and found is None:
            raise Refusal(400, place_texts.whole_ticks(name, plain(tick)))
        return found

    price, trigger_price = exactly("price", change.price), exactly("trigger_price", change.trigger_price)
    return attrs.evolve(change, price=price, trigger_price=trigger_price)
