"""One broker's account at the exchange. `Account` is the `AccountView` of dialect.py, and it owns its orders and money.

`exchange.py` decides what happens to orders and tells the account through `put` and `book_fill`. The account keeps the day's orders, fills,
positions, holdings and cash, and reports them. All rupees are Decimal and exact.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Protocol

import attrs
import msgspec

from onebroker.brokers.simulator.exchange.faults import FaultKind, Faults
from onebroker.brokers.simulator.exchange.risk import (
    COLLATERAL_AFTER_HAIRCUT,
    NOTHING,
    Blocked,
    block_for_order,
    position_blocks,
    profit,
    realized,
    refuse,
)
from onebroker.brokers.simulator.world.broker_traits import BrokerTraits
from onebroker.brokers.simulator.world.candles import CandleRow
from onebroker.brokers.simulator.world.model import (
    Contract,
    Market,
    NewOrder,
    RefusalReason,
    SimFill,
    SimFunds,
    SimHolding,
    SimOrder,
    SimPosition,
    SimRefusal,
)
from onebroker.config.clock import Clock
from onebroker.config.instruments import Shape
from onebroker.config.vocabulary import Product, Side

ODD_FACTOR = 100
"""How far off an absurd figure is."""
_ZERO, _PAISA = Decimal(0), Decimal("0.01")
PositionKey = tuple[str, Product]
"""(instrument_id, product)."""


@attrs.define(kw_only=True)
class OrderEntry:
    """An order, with the data that the exchange needs to work it. Stored in this form."""

    order: SimOrder
    day: date
    """The account's day on which it was placed."""
    priority: int
    """Time priority across all accounts; lower is earlier."""
    live_from: float
    """Epoch seconds at which the order goes to the book. Later than the time of placing for pre-open and after-market orders."""
    expires_at: float
    resting_price: Decimal | None = None
    """The price at which the rest of a market order waits; None for orders with a price."""
    triggered: bool = False
    """True for a stop order whose trigger was reached."""


@attrs.define(kw_only=True)
class AccountState:
    """The account's own data, apart from orders and fills. Stored in this form."""

    day: date
    """The trading day of the `day_*` figures and order numbers. It turns at 07:00 IST."""
    cash: Decimal
    """The day's opening cash, in which everything earlier is settled."""
    last_number: int = 0
    holdings: list[SimHolding] = attrs.field(factory=list)
    positions: list[SimPosition] = attrs.field(factory=list)


class OrderDesk(Protocol):
    """The exchange as an account uses it."""

    def contract(self, instrument_id: str) -> Contract | None: ...

    def contracts(self) -> Sequence[Contract]: ...

    def market(self, instrument_id: str) -> Market: ...

    def last_price(self, contract: Contract) -> Decimal: ...

    def candles(self, contract: Contract, interval: str, first: date, last: date) -> Sequence[CandleRow]: ...

    def place(self, account: "Account", new: NewOrder) -> SimOrder: ...

    def modify(self, account: "Account", order_id: str, changes: dict[str, object]) -> SimOrder: ...

    def cancel(self, account: "Account", order_id: str) -> SimOrder: ...


class Account:
    """A broker's account. The methods of `AccountView` come first, then those that the exchange calls."""

    def __init__(self, code: str, traits: BrokerTraits, desk: OrderDesk, clock: Clock, faults: Faults) -> None:
        self.code = code
        self.client_id = traits.client_id
        self.client_name = traits.client_name
        self.traits = traits
        self.ticking = False
        """Whether sockets are being told of the market now. Set by the gateway: faults of ticks strike nothing else."""
        self.state = AccountState(day=date.min, cash=_ZERO)
        self._desk, self._clock, self._faults = desk, clock, faults
        self._entries: dict[str, OrderEntry] = {}
        self._history: dict[str, list[SimOrder]] = {}
        self._fills: list[SimFill] = []
        self._positions: dict[PositionKey, SimPosition] = {}
        self._position_log: list[tuple[datetime, PositionKey, SimPosition | None]] = []
        """(moment of a change, position, its state before; None = there was no such position). A restart forgets it: then positions are not late."""
        self._blocks: dict[str, Blocked] = {}
        self._blocked = NOTHING
        self._working: dict[str, set[str]] = {}
        self._listed: tuple[object, tuple[Contract, ...]] = (None, ())

    # AccountView ------------------------------------------------------------------------------------------------------

    def contracts(self) -> Sequence[Contract]:
        listed = self._desk.contracts()
        if self._listed[0] is not listed:
            self._listed = (listed, tuple(contract for contract in listed if self.traits.lists(contract)))
        return self._listed[1]

    def contract(self, instrument_id: str) -> Contract | None:
        contract = self._desk.contract(instrument_id)
        return contract if contract is not None and self.traits.lists(contract) else None

    def market(self, instrument_id: str) -> Market:
        market = self._desk.market(instrument_id)
        if self.ticking and self._faults.strike(self.code, FaultKind.ODD_VOLUME, (instrument_id,)) is not None:
            return attrs.evolve(market, volume=0)
        return market

    def candles(self, instrument_id: str, interval: str, first: date, last: date) -> Sequence[CandleRow]:
        contract = self.contract(instrument_id)
        return [] if contract is None else self._desk.candles(contract, interval, first, last)

    def place(self, new: NewOrder) -> SimOrder:
        return self._desk.place(self, new)

    def modify(self, order_id: str, **changes: object) -> SimOrder:
        return self._desk.modify(self, order_id, changes)

    def cancel(self, order_id: str) -> SimOrder:
        return self._desk.cancel(self, order_id)

    def order(self, order_id: str) -> SimOrder | None:
        entry = self._entries.get(order_id)
        return None if entry is None else entry.order

    def orders(self) -> Sequence[SimOrder]:
        return self._shown_orders()

    def tagged(self, tag: str) -> Sequence[SimOrder]:
        return tuple(entry.order for entry in self._entries.values() if entry.order.new.tag == tag)

    def order_history(self, order_id: str) -> Sequence[SimOrder]:
        return tuple(self._history.get(order_id, ()))

    def fills(self) -> Sequence[SimFill]:
        late = self._faults.find(self.code, FaultKind.LATE_BOOK)
        if late is None:
            return tuple(self._fills)
        seen = self._clock.now() - timedelta(seconds=late.delay_seconds)
        return tuple(fill for fill in self._fills if fill.at <= seen)

    def positions(self) -> Sequence[SimPosition]:
        late = self._faults.find(self.code, FaultKind.LATE_POSITIONS)
        if late is None:
            return self.held_positions()
        return self._past_positions(self._clock.now() - timedelta(seconds=late.delay_seconds))

    def holdings(self) -> Sequence[SimHolding]:
        return tuple(self.state.holdings)

    def unlisted(self) -> Collection[str | None]:
        return self._faults.instruments(self.code, FaultKind.UNLISTED)

    def struck_row(self, kind: FaultKind, instrument_ids: Sequence[str]) -> int | None:
        for place in range(len(instrument_ids) - 1, -1, -1):
            if self._faults.strike(self.code, kind, (instrument_ids[place],)) is not None:
                return place
        return None

    def funds(self) -> SimFunds:
        true = self.true_funds()
        if self._faults.strike(self.code, FaultKind.ODD_FUNDS) is None:
            return true
        return attrs.evolve(true, opening_cash=(true.opening_cash / ODD_FACTOR).quantize(_PAISA))

    def margin(self, new: NewOrder) -> Blocked:
        contract = self._desk.contract(new.instrument_id)
        if contract is None:
            raise SimRefusal(RefusalReason.NOT_TRADABLE, "the instrument does not exist")
        refuse(contract, new)
        price = new.price or new.trigger_price or self._desk.last_price(contract)
        return block_for_order(contract, new.product, new.side, price, 0, new.quantity)

    # for the exchange -------------------------------------------------------------------------------------------------

    def entry(self, order_id: str) -> OrderEntry:
        """Return an order of today. Raise SimRefusal if there is no order with that id."""
        found = self._entries.get(order_id)
        if found is None:
            raise SimRefusal(RefusalReason.UNKNOWN_ORDER, f"order {order_id} does not exist")
        return found

    def known(self, order_id: str) -> OrderEntry | None:
        """Return an order of today, or None."""
        return self._entries.get(order_id)

    def entries(self) -> Sequence[OrderEntry]:
        """Return today's orders, oldest first."""
        return tuple(self._entries.values())

    def true_funds(self) -> SimFunds:
        """Return the funds as they are, whatever the broker's answers show."""
        blocked, gained = position_blocks(list(self._positions.values()), self._desk.contract)
        blocked += self._blocked
        return SimFunds(
            opening_cash=self.state.cash,
            collateral=self._collateral(),
            span=blocked.span,
            exposure=blocked.exposure,
            option_premium=blocked.option_premium,
            delivery=blocked.delivery,
            realized=gained,
            unrealized=self._unrealized(),
        )

    def held_positions(self) -> Sequence[SimPosition]:
        """Return the positions as they are, whatever the broker's answers show."""
        return tuple(self._positions.values())

    def all_fills(self) -> Sequence[SimFill]:
        """Return today's fills as they are, whatever the broker's answers show."""
        return tuple(self._fills)

    def next_order_id(self) -> str:
        """Take the next order id of the day."""
        self.state.last_number += 1
        return self.traits.order_number(self.state.day, self.state.last_number)

    def put(self, entry: OrderEntry) -> int:
        """Store an order's present state and return the number of that state, counted from 0."""
        order = entry.order
        self._entries[order.order_id] = entry
        states = self._history.setdefault(order.order_id, [])
        states.append(order)
        self._block(entry)
        return len(states) - 1

    def book_fill(self, fill: SimFill) -> None:
        """Add a fill to the positions."""
        self._fills.append(fill)
        key = (fill.instrument_id, fill.product)
        held = self.position(*key)
        value = fill.price * fill.quantity
        if fill.side is Side.BUY:
            held = attrs.evolve(
                held,
                day_buy_quantity=held.day_buy_quantity + fill.quantity,
                day_buy_value=held.day_buy_value + value,
            )
        else:
            held = attrs.evolve(
                held,
                day_sell_quantity=held.day_sell_quantity + fill.quantity,
                day_sell_value=held.day_sell_value + value,
            )
        self.put_position(held)

    def rename(self, names: Mapping[str, str]) -> None:
        """Give instruments other ids: in positions, orders and fills of today. `names` maps old ids to new ids. Their orders must have ended."""
        renamed = [position for (key, _), position in self._positions.items() if key in names]
        for position in renamed:
            del self._positions[position.instrument_id, position.product]
            self.put_position(attrs.evolve(position, instrument_id=names[position.instrument_id]))
        self._position_log.clear()
        self._fills = [
            attrs.evolve(fill, instrument_id=names.get(fill.instrument_id, fill.instrument_id)) for fill in self._fills
        ]
        for entry in self._entries.values():
            new = entry.order.new
            if new.instrument_id in names:
                new = attrs.evolve(new, instrument_id=names[new.instrument_id])
                entry.order = attrs.evolve(entry.order, new=new)
                history = self._history[entry.order.order_id]
                history[:] = [attrs.evolve(state, new=new) for state in history]

    def unbook_fill(self, fill: SimFill) -> None:
        """Take a fill out of the fills and the positions. Units that were converted meanwhile leave the product that they are in now."""
        self._fills.remove(fill)
        side = fill.side.value.lower()
        converted = [
            one for (instrument_id, product), one in self._positions.items()
            if instrument_id == fill.instrument_id and product is not fill.product
        ]  # fmt: skip
        missing = fill.quantity
        for held in (self.position(fill.instrument_id, fill.product), *converted):
            had, value = getattr(held, f"day_{side}_quantity"), getattr(held, f"day_{side}_value")
            units = min(missing, had)
            if units:
                left = value - fill.price * units if had > units else _ZERO
                self.put_position(
                    attrs.evolve(held, **{f"day_{side}_quantity": had - units, f"day_{side}_value": left})
                )
            missing -= units

    def put_position(self, position: SimPosition) -> None:
        """Store a position's present state. Open orders that close it block less."""
        key = (position.instrument_id, position.product)
        self._position_log.append((self._clock.now(), key, self._positions.get(key)))
        self._positions[key] = position
        for order_id in tuple(self._working.get(position.instrument_id, ())):
            self._block(self._entries[order_id])

    def position(self, instrument_id: str, product: Product) -> SimPosition:
        """Return a position as it is, flat if there is none."""
        return self._positions.get((instrument_id, product)) or _flat(instrument_id, product)

    def required(self, contract: Contract, order: SimOrder, price: Decimal) -> Decimal:
        """Return the rupees that an order would block if it were accepted now."""
        return self._order_block(contract, order, price).total

    def blocked_by(self, order_id: str) -> Decimal:
        """Return the rupees that an order blocks."""
        return self._blocks.get(order_id, NOTHING).total

    def net_quantity(self, instrument_id: str, product: Product) -> int:
        """Return the signed units of a position."""
        held = self._positions.get((instrument_id, product))
        return 0 if held is None else held.quantity

    def sellable(self, instrument_id: str, apart_from: str = "") -> int:
        """Return the delivery units that may still be sold: holdings plus today's purchases, less today's sales and open sell orders."""
        held = next((holding for holding in self.state.holdings if holding.instrument_id == instrument_id), None)
        free = 0 if held is None else held.settled_quantity + held.t1_quantity
        if not self.traits.reserves_shares:
            return free + self.net_quantity(instrument_id, Product.CNC)
        working = (self._entries[order_id].order for order_id in self._working.get(instrument_id, ()))
        offered = sum(
            order.pending_quantity
            for order in working
            if order.order_id != apart_from and order.new.product is Product.CNC and order.new.side is Side.SELL
        )
        return free + self.net_quantity(instrument_id, Product.CNC) - offered

    def want_of_shares(self, new: NewOrder, units: int, apart_from: str = "") -> SimRefusal | None:
        """Return the refusal of a sale of `units` delivery shares that are not free, or None. The order `apart_from` blocks nothing."""
        sale = new.product is Product.CNC and new.side is Side.SELL
        if not sale or self.sellable(new.instrument_id, apart_from) >= units:
            return None
        return SimRefusal(RefusalReason.NO_HOLDING, self.traits.no_shares())

    def set_available(self, rupees: Decimal) -> None:
        """Make the money that new orders may use `rupees`, as if cash had been paid in or out."""
        self.state.cash += rupees - self.true_funds().available

    def begin_day(self, state: AccountState) -> None:
        """Start a day with settled cash, carried positions and no orders."""
        self.state = state
        self._positions = {(position.instrument_id, position.product): position for position in state.positions}
        self._entries.clear()
        self._history.clear()
        self._fills.clear()
        self._position_log.clear()
        self._blocks.clear()
        self._working.clear()
        self._blocked = NOTHING

    def restore(self, state: AccountState, fills: list[SimFill]) -> None:
        """Continue a stored day. Orders follow through `restore_order`."""
        self.begin_day(state)
        self._fills = fills

    def restore_order(self, entry: OrderEntry, states: list[SimOrder]) -> None:
        """Continue a stored order."""
        self._entries[entry.order.order_id] = entry
        self._history[entry.order.order_id] = states
        self._block(entry)

    def stored(self) -> bytes:
        """Return the account in the form kept in the journal."""
        self.state.positions = list(self._positions.values())
        return msgspec.json.encode(self.state)

    # parts ------------------------------------------------------------------------------------------------------------

    def _shown_orders(self) -> tuple[SimOrder, ...]:
        known = list(self._entries)
        late = self._faults.find(self.code, FaultKind.LATE_BOOK)
        if late is None:
            return tuple(self._entries[order_id].order for order_id in known)
        seen = self._clock.now() - timedelta(seconds=late.delay_seconds)
        past = ([order for order in self._history[order_id] if order.updated_at <= seen] for order_id in known)
        return tuple(states[-1] for states in past if states)

    def _past_positions(self, seen: datetime) -> tuple[SimPosition, ...]:
        """Return the positions without the changes after `seen`."""
        past = dict(self._positions)
        for at, key, before in reversed(self._position_log):
            if at <= seen:
                break
            if before is None:
                past.pop(key)
            else:
                past[key] = before
        return tuple(past.values())

    def _block(self, entry: OrderEntry) -> None:
        order = entry.order
        old = self._blocks.pop(order.order_id, NOTHING)
        new = NOTHING
        contract = self._desk.contract(order.new.instrument_id)
        working = self._working.setdefault(order.new.instrument_id, set())
        if order.status.finished or contract is None:
            working.discard(order.order_id)
        else:
            working.add(order.order_id)
            price = order.price or order.trigger_price or entry.resting_price or self._desk.last_price(contract)
            new = self._order_block(contract, order, price)
            self._blocks[order.order_id] = new
        self._blocked += new + -old

    def _order_block(self, contract: Contract, order: SimOrder, price: Decimal) -> Blocked:
        position = self.net_quantity(order.new.instrument_id, order.new.product)
        pending = order.quantity - order.filled_quantity
        if contract.identity.shape is Shape.OPTION and self._faults.find(self.code, FaultKind.SECOND_SALE_MARGIN):
            position += order.new.side.sign * self._offered_before(order)
        return block_for_order(contract, order.new.product, order.new.side, price, position, pending)

    def _offered_before(self, order: SimOrder) -> int:
        """Return the open units of earlier orders on the same side of the same position: they close the position first."""
        mine = (order.new.instrument_id, order.new.product, order.new.side)
        offered = 0
        for entry in self._entries.values():
            if entry.order.order_id == order.order_id:
                break
            new = entry.order.new
            if (new.instrument_id, new.product, new.side) == mine:
                offered += entry.order.pending_quantity
        return offered

    def _collateral(self) -> Decimal:
        return sum(
            (
                self._price_of(held.instrument_id) * held.collateral_quantity * COLLATERAL_AFTER_HAIRCUT
                for held in self.state.holdings
                if held.collateral_quantity
            ),
            _ZERO,
        )

    def _unrealized(self) -> Decimal:
        return sum(
            (
                profit(position, self._price_of(position.instrument_id)) - realized(position)
                for position in self._positions.values()
                if position.product is not Product.CNC
            ),
            _ZERO,
        )

    def _price_of(self, instrument_id: str) -> Decimal:
        contract = self._desk.contract(instrument_id)
        return _ZERO if contract is None else self._desk.last_price(contract)


AccountListener = Callable[[SimOrder, SimFill | None], None]
"""Called after an order of the account has changed and the change is on disk."""


def _flat(instrument_id: str, product: Product) -> SimPosition:
    return SimPosition(
        instrument_id=instrument_id,
        product=product,
        overnight_quantity=0,
        overnight_price=_ZERO,
        day_buy_quantity=0,
        day_buy_value=_ZERO,
        day_sell_quantity=0,
        day_sell_value=_ZERO,
    )
