"""What a flatten or a close covers: everything, or the orders and positions of a broker, an instrument, a product, a tag (order-engine 5.7). Pure.

A flatten is the scope without limits; a close is the same work within a scope. All limits must match. Three questions are answered here:

- which orders and legs are cancelled: `takes_order`, `takes_leg`;
- which positions are closed, and how many of their units: `units_to_close`;
- which parents are halted: `reach`.

A parent is halted when all that it does lies in the scope. A parent that also works elsewhere is not: a halt would leave its other positions
without the engine behind their stops. Its orders in the scope are cancelled as a caller cancels them, so that the plan knows it, its exits that
wait for the closed positions end (as before a `square_off`), and the answer names it.

A position has no tag. The units of a tag are those that today's orders with this tag have bought less sold at the broker. So two strategies may
share a position, and each is closed by itself. The fills are followed in their order (`day_trades.py`): after each of them the tag has at most the units
that the position has, so that a close without a tag, or by a person, takes the units of all tags. Units that a tag carried in from an earlier day
are not in today's book: they are closed by their instrument. The close itself gets the tag.
"""

from collections.abc import Collection, Iterator, Mapping

import attrs

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.engine.books.day_trades import filled_orders, fills_by_last_news, trades_of
from onebroker.actors.engine.context.messages import Reach
from onebroker.actors.engine.orders.order_index import Legs
from onebroker.actors.engine.orders.parent_records import LegRecord, ParentRecord, tag_of
from onebroker.actors.engine.plan.machine.over_fills import closed_by_base
from onebroker.actors.engine.plan.parts import FromPosition, OrderPart, own_orders_of, walk
from onebroker.actors.engine.plan.stored_tree import decode_plan
from onebroker.actors.portfolio.position_view import position_product
from onebroker.actors.sessions.session_view import SessionView
from onebroker.brokers.records import OrderRow, PositionRow


@attrs.frozen(kw_only=True)
class Scope:
    """Limits of a flatten; None = no limit."""

    broker: str | None = None
    instrument: Instrument | None = None
    may_hold: Mapping[str, Collection[str]] = attrs.field(factory=dict)
    """Broker -> tokens of its open positions that may be in the instrument, because the broker does not list it now. Such a position is named
    as not closed. Orders of these tokens are left alone."""
    product: str | None = None
    """A position's word, such as `intraday`."""
    tag: str | None = None
    """The caller's tag."""
    skip_covered: bool = False
    """Whether delivery rows below zero that the holdings cover stay as they are."""

    @property
    def is_whole(self) -> bool:
        """Whether everything is covered: a flatten."""
        return self.broker is None and self.instrument is None and self.product is None and self.tag is None

    def has_broker(self, code: str) -> bool:
        """Whether anything at this broker may be covered."""
        listed = self.instrument is None or code in self.instrument.listings or code in self.may_hold
        return self.broker in (None, code) and listed

    def takes(self, code: str, token: str, product: str) -> bool:
        """Whether an order or a position of this broker, instrument token and product is covered, by all limits but the tag."""
        return self.takes_position(code, token, position_product(product))

    def takes_position(self, code: str, token: str, word: str) -> bool:
        """Whether the position of an instrument token in a product (a position's word) is covered, by all limits but the tag."""
        if not self.has_broker(code) or self.product not in (None, word):
            return False
        if self.instrument is None:
            return True
        listing = self.instrument.listings.get(code)
        return listing is not None and listing.broker_token == token

    def takes_order(self, code: str, row: OrderRow, legs: Legs) -> bool:
        return self.takes(code, row.instrument_token, row.product) and (
            self.tag is None or self._has_tag(code, row.order_id, row.tag, legs)
        )

    def takes_leg(self, leg: LegRecord, legs: Legs) -> bool:
        return self.takes(leg.broker, leg.instrument_token, leg.product) and (
            self.tag is None or self._has_tag(leg.broker, leg.order_id or "", leg.token, legs)
        )

    def _has_tag(self, code: str, order_id: str, tag: str | None, legs: Legs) -> bool:
        """Whether an order has the tag, or closes the units of an entry that has it."""
        owner = legs.owner(code, order_id, tag)
        return self.tag is not None and (tag == self.tag if owner is None else owner.has_tag(self.tag))

    # --- positions --------------------------------------------------------------------------------------------------

    def units_to_close(self, code: str, row: PositionRow, view: SessionView, legs: Legs) -> int | None:
        """Return the signed units of a position that are closed: 0 when the row is not covered, None when its units are not known."""
        is_left = self.skip_covered and row.covered_by_holdings
        if is_left or not (self._may_be(code, row) or self.takes(code, row.instrument_token, row.product)):
            return 0
        if row.quantity is None or self.tag is None:
            return row.quantity
        orders = filled_orders(view, row.instrument_token, row.product)
        fills = trades_of(view, orders)
        if fills is None:
            fills = fills_by_last_news(orders)
        position = row.quantity - sum(fill.units for fill in fills)  # as it was carried in
        own = 0
        for fill in fills:
            position += fill.units
            is_own = self._has_tag(code, fill.order.order_id, fill.order.tag, legs)
            own = _within(own + fill.units if is_own else own, position)
        return own

    def lacks_trades(self, code: str, row: PositionRow, view: SessionView, legs: Legs) -> bool:
        """Whether the units of the tag follow the times of the order book, because the trade book does not show all fills of the position. Only where
        orders of the tag and others have filled does the order of the fills matter."""
        if self.tag is None or not self.takes(code, row.instrument_token, row.product):
            return False
        orders = filled_orders(view, row.instrument_token, row.product)
        own = {self._has_tag(code, order.order_id, order.tag, legs) for order in orders}
        return len(own) == 2 and trades_of(view, orders) is None

    def _may_be(self, code: str, row: PositionRow) -> bool:
        """Whether a position may be covered although its broker does not list the instrument."""
        has_product = self.product in (None, position_product(row.product))
        return self.has_broker(code) and has_product and row.instrument_token in self.may_hold.get(code, ())

    # --- parents ----------------------------------------------------------------------------------------------------

    def reach(self, record: ParentRecord) -> Reach:
        """Return whether all of a parent's work is covered, a part of it, or nothing."""
        if self.is_whole:
            return Reach.ALL
        found = set(self._places(record))
        if found == {True}:
            return Reach.ALL
        return Reach.PART if True in found else Reach.NONE

    def _places(self, record: ParentRecord) -> Iterator[bool]:
        """Yield, for each place where the parent has orders or may send one, whether the place is covered. A part without a broker goes where its
        parent's orders are: with a limit of the broker it says nothing."""
        for leg in record.legs:
            if leg.filled_quantity or not leg.state.final:
                has_tag = self.tag in (None, tag_of(record, leg), leg.entry_tag)
                yield has_tag and self.takes(leg.broker, leg.instrument_token, leg.product)
        for instrument_id, product, broker, tags in _parts(record):
            has_tag = self.tag in (None, *(record.tag if tag is None else tag for tag in tags))
            has_instrument = self.instrument is None or instrument_id == self.instrument.instrument_id
            has_product = self.product is None or product is None or position_product(product) == self.product
            if not (has_tag and has_instrument and has_product):
                yield False
            elif self.broker is None or broker is not None:
                yield self.broker in (None, broker)


def _within(units: int, position: int) -> int:
    """Return the units of a tag that can be in a position: none on the other side, and no more than the position has."""
    if units * position <= 0:
        return 0
    return min(units, position) if units > 0 else max(units, position)


def _parts(record: ParentRecord) -> Iterator[tuple[str | None, str | None, str | None, set[str | None]]]:
    """Yield instrument (None: several), product (None: all), pinned broker and tags of each part of a plan that may still send orders: its own tag, and
    that of the entry whose units it closes (None: the parent's)."""
    if record.plan is None:
        return
    root = decode_plan(record.plan)
    entries = {order.path: base for base, exits in closed_by_base(root) for order in exits}
    for part in walk(root):
        kept = record.parts.get(part.path)
        if not isinstance(part, OrderPart) or (kept is not None and kept.state.final):
            continue
        base = entries.get(part.path)
        tags = {part.tag} if base is None else {part.tag, next(own_orders_of(base)).tag}
        if not isinstance(part.quantity, FromPosition):
            yield part.instrument_id, part.product, part.broker, tags
        elif part.quantity.every_instrument:
            yield None, part.quantity.product, part.broker, tags
        else:
            for instrument_id in part.quantity.instrument_ids:
                yield instrument_id, part.quantity.product, part.broker, tags


EVERYTHING = Scope()
