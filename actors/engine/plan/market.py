"""The world as the rules of a plan see it: quotes as decimals, the terms of an instrument (order-engine 0). Values only."""

from collections.abc import Collection, Sequence
from datetime import date
from decimal import Decimal
from typing import NamedTuple, Protocol

import attrs

from onebroker.actors.engine.plan.parts import QuoteField
from onebroker.actors.engine.plan.pricing.black76 import Option
from onebroker.brokers.records import DepthLevel, Tick
from onebroker.config.money import exact, snap
from onebroker.config.vocabulary import Side


@attrs.frozen
class Level:
    price: Decimal
    quantity: int


@attrs.frozen(kw_only=True)
class Seen:
    """A usable quote. A field that the feed does not carry is None; an empty side of the book is an empty tuple."""

    last_price: Decimal | None
    """None = no last price may be acted on: it lies outside its book, or is from an earlier day."""
    received_at: float
    """Epoch seconds."""
    buy: tuple[Level, ...] | None = None
    """Best first."""
    sell: tuple[Level, ...] | None = None
    average_price: Decimal | None = None
    volume: int | None = None
    oi: int | None = None
    buy_quantity: int | None = None
    sell_quantity: int | None = None
    last_quantity: int | None = None
    previous_close: Decimal | None = None
    passed: tuple["Seen", ...] = ()
    """The quotes that this one replaced and no look has seen, oldest first. A level that was touched for a moment counts as touched."""

    def since(self, after: float | None) -> tuple["Seen", ...]:
        """Return the quotes to be judged, oldest first: the passed quotes received after `after`, then this quote.

        `after` in epoch seconds; None = no passed quote.
        """
        return (*(quote for quote in self.passed if after is not None and quote.received_at > after), self)

    @property
    def tells_depth(self) -> bool:
        """Whether the feed carries both sides of the book, even if they are empty. Without them the book is not known."""
        return self.buy is not None and self.sell is not None

    @property
    def bid(self) -> Decimal | None:
        return self.buy[0].price if self.buy else None

    @property
    def offer(self) -> Decimal | None:
        return self.sell[0].price if self.sell else None

    @property
    def mid(self) -> Decimal | None:
        return None if self.bid is None or self.offer is None else (self.bid + self.offer) / 2

    def own(self, side: Side) -> Decimal | None:
        """The best price on the order's own side: best bid for a BUY."""
        return self.bid if side is Side.BUY else self.offer

    def opposite(self, side: Side) -> Decimal | None:
        """The best price that the order would trade against: best offer for a BUY."""
        return self.offer if side is Side.BUY else self.bid

    def against(self, side: Side) -> tuple[Level, ...]:
        """The side of the book that the order would trade against; empty also where the feed carries no such side (`tells_depth`)."""
        return (self.sell if side is Side.BUY else self.buy) or ()

    def value(self, field: QuoteField) -> Decimal | None:
        """The value of a field, by its name in the grammar."""
        match field:
            case QuoteField.MID:
                return self.mid
            case QuoteField.BID:
                return self.bid
            case QuoteField.OFFER:
                return self.offer
            case QuoteField.CHANGE_PERCENT:
                return self._change_percent()
        value: Decimal | int | None = getattr(self, field.value)
        return None if value is None else Decimal(value)

    def _change_percent(self) -> Decimal | None:
        before, last = self.previous_close, self.last_price
        return None if not before or last is None else (last - before) / before * 100

    def is_past(self, level: Decimal, side: Side) -> bool:
        """Whether the last price is at or past a stop's trigger; False where no last price may be acted on."""
        return self.last_price is not None and (self.last_price - level) * side.sign >= 0


@attrs.frozen(kw_only=True)
class Calm:
    """Bounds of one quote field. While the field stays within them, a new look would give the same result and is not needed."""

    field: QuoteField = QuoteField.LAST_PRICE
    least: Decimal | None = None
    most: Decimal | None = None
    above: Decimal | None = None
    below: Decimal | None = None

    def holds(self, quote: Seen) -> bool:
        """Whether the quote's field is within the bounds; False where the quote does not carry the field."""
        value = quote.value(self.field)
        return (
            value is not None
            and (self.least is None or value >= self.least)
            and (self.most is None or value <= self.most)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
        )


def seen(tick: Tick, received_at: float, *, last_price_acts: bool = True) -> Seen:
    """Return a feed tick as the rules see it; `received_at` in epoch seconds."""
    return Seen(
        last_price=exact(tick.last_price) if last_price_acts else None,
        received_at=received_at,
        buy=_levels(tick.buy),
        sell=_levels(tick.sell),
        average_price=None if tick.average_price is None else exact(tick.average_price),
        volume=tick.volume,
        oi=tick.oi,
        buy_quantity=tick.buy_quantity,
        sell_quantity=tick.sell_quantity,
        last_quantity=tick.last_quantity,
        previous_close=None if tick.previous_close is None else exact(tick.previous_close),
    )


def _levels(levels: Sequence[DepthLevel] | None) -> tuple[Level, ...] | None:
    if levels is None:
        return None
    return tuple(
        Level(exact(level.price), level.quantity) for level in levels if level.price > 0 and level.quantity > 0
    )


@attrs.frozen(kw_only=True)
class Terms:
    """The terms of an instrument on which the brokers agree."""

    tick: Decimal | None
    """None = no agreed tick: prices are then not snapped."""
    lot: int = 1
    freeze: int | None = None
    """Units; only the whole lots in it are usable."""

    def passive(self, price: Decimal, side: Side) -> Decimal:
        """Snap away from trading: BUY down, SELL up."""
        return self._snap(price, up=side is Side.SELL)

    def towards(self, price: Decimal, side: Side) -> Decimal:
        """Snap towards trading: BUY up, SELL down. For a stop of that side this is away from the market."""
        return self._snap(price, up=side is Side.BUY)

    def _snap(self, price: Decimal, *, up: bool) -> Decimal:
        return price if self.tick is None else snap(price, self.tick, "up" if up else "down")

    def whole_lots(self, units: int) -> int:
        """The largest number of units that is whole lots and not above `units`."""
        return units // self.lot * self.lot


@attrs.frozen(kw_only=True)
class Session:
    """One trading day of an instrument, in epoch seconds. Several sessions of one day count as one session."""

    opens: float
    closes: float


@attrs.frozen(kw_only=True)
class Standing:
    """How an instrument stands in the present list of instruments."""

    name: str
    """For sentences."""
    is_listed: bool = True
    """False: the terms and sessions are those of the last list that had the instrument."""
    ends_at: float | None = None
    """When a contract is over: the end of its expiry day, in epoch seconds. None = no contract, or not known."""


class FiguresSince(NamedTuple):
    """From which days on the corporate actions of a share are to be asked for. India days."""

    given: date
    """The day whose prices and units the figures mean: they were given on it, or scaled for it. Later ex-dates are not in them."""
    seen: date
    """The last day on which an action was looked for during a session; at least `given`."""


@attrs.frozen(kw_only=True)
class ShareAction:
    """The corporate actions of a share since a day, today's among them."""

    is_known: bool = True
    asked_at: float = 0.0
    """Since when (epoch seconds) the fact is looked for, while it is not known."""
    happened: bool = False
    price_factor: Decimal | None = None
    """What prices of before are multiplied by; None = no action, or its factor is not known."""
    units_factor: Decimal | None = None
    until: date | None = None
    """The newest ex-date of the factors; None = today. Whether today is an ex-date too is then still to be asked."""


NO_ACTION = ShareAction()


@attrs.frozen(kw_only=True)
class AccountFigures:
    """The account in rupees; None = not given.

    Each figure is the sum over all brokers that answer. A figure of the day's profit and loss is None if one of these brokers does
    not report its own.
    """

    realized_pnl: Decimal | None
    unrealized_pnl: Decimal | None
    available_balance: Decimal | None
    total_balance: Decimal | None
    margin_utilized: Decimal | None
    day_pnl: Decimal | None = attrs.field(default=attrs.Factory(lambda self: self.both, takes_self=True))
    """May be known even where its two parts (realized, unrealized) are not."""
    without_result: tuple[str, ...] = ()
    """Codes of the brokers that answer but report no result of the day."""
    without_parts: tuple[str, ...] = ()
    """Codes of the brokers that answer but of whose day result at least one of the two parts is not known."""
    unread: tuple[str, ...] = ()
    """Codes of the brokers that have told their figures today and cannot be read now: their figures stand still."""

    @property
    def both(self) -> Decimal | None:
        if self.realized_pnl is None or self.unrealized_pnl is None:
            return None
        return self.realized_pnl + self.unrealized_pnl


@attrs.frozen
class JointFigure:
    """Realized + unrealized of several positions."""

    rupees: Decimal
    brokers: frozenset[str]
    """The brokers that have such a position."""
    first: Decimal | None = None
    """The figure from which gains are counted, where nothing was counted before; None = `rupees`. A first figure of a broker is shown only when a
    second one bears it out, and gains are counted from the first."""


@attrs.frozen
class JointUntold:
    """Why a joint figure is not known."""

    brokers: frozenset[str]
    """The brokers whose part of it cannot be read, or is not believed."""
    filled_at: float | None = None
    """Epoch seconds of the latest fill at these brokers. Their positions may not show it yet."""
    began_at: float | None = None
    """Epoch seconds of the latest login at these brokers. Their first figures, and the first quotes, may still be on their way."""


class Market(Protocol):
    """The world at one moment. Nothing here changes during one look at a plan."""

    @property
    def now(self) -> float:
        """Epoch seconds."""

    def seen(self, instrument_id: str) -> Seen | None:
        """Return the usable quote, or None (order-engine 0)."""

    def is_stale(self, instrument_id: str) -> bool:
        """Whether there is a live quote, but too old to be acted on."""

    def told_at(self, instrument_id: str) -> float:
        """Return when the instrument's market was last told, by a feed or over REST (epoch seconds); -inf = never."""

    def terms(self, instrument_id: str) -> Terms: ...

    def standing(self, instrument_id: str) -> Standing: ...

    def action(self, instrument_id: str, since: FiguresSince) -> ShareAction:
        """Return the corporate actions of the instrument, if it is a share, which figures of before do not contain."""

    def session(self, instrument_id: str, after: float) -> Session | None:
        """Return the first trading day whose close lies after `after` (epoch seconds); None when no such day is known."""

    def opening(self, instrument_id: str, at: float, within: float) -> float | None:
        """Return when a session or the pre-open of the instrument's market opens, if `at` is less than `within` seconds after it.

        Epoch seconds; None if there is no such opening.
        """

    def account(self) -> AccountFigures | None:
        """Return the account's figures when they may be acted on (at most 30 s old)."""

    def joint_pnl(
        self,
        instrument_ids: Sequence[str],
        *,
        every_instrument: bool,
        product: str | None,
        today: bool,
        holders: Collection[str] | None,
    ) -> JointFigure | JointUntold:
        """Return the joint figure of these positions since they were opened, or with `today` since the day began. With `today` a carried
        position counts from the previous close.

        `JointUntold` while the rows cannot be trusted: they are older than 30 s, or have no readable rows at a broker that has such a position (3.45): one
        of `holders`, or one that last showed such a row or a fill of today. `holders` None = not known yet.
        """

    def fill_price(self, leg_id: str, before: int, after: int) -> Decimal | None:
        """Return the price at which a leg filled its units from `before` to `after`; None while the trades are not known (2.3)."""

    def option(self, instrument_id: str) -> Option | None:
        """Return the terms of an option; None for any other instrument."""

    def is_future(self, instrument_id: str) -> bool: ...

    def lockout(self) -> str | None:
        """Return why new orders are refused today (4.7), or None."""

    def held(self, broker: str | None, instrument_id: str, product: str, side: Side) -> int | None:
        """Return the units that an order on `side` may take from what a broker holds in the product (None: all brokers together), when that is
        settled (4.11); else None. For a delivery sale the holdings count too."""

    def held_at_most(self, broker: str | None, instrument_id: str, product: str, side: Side) -> int:
        """Return the same by the row or by the fills, whichever says more, while they do not agree."""

    def guarded_by_older(self, broker: str, instrument_id: str, product: str, side: Side) -> int:
        """Return the units of such a position that older open plans have bought and guard (1.13)."""

    def taken_by_others(
        self, broker: str | None, instrument_id: str, product: str, side: Side, *, stops: bool, anywhere: bool
    ) -> int:
        """Return the units of such a position, at a broker or at all brokers together, that other open plans have bought and guard, and those that
        older exits without an entry claim, stops or targets (1.13). `anywhere`: whether exits that name no broker count."""

    def guards_before_growth(
        self, broker: str | None, instrument_id: str, product: str, side: Side, *, stops: bool, is_lone: bool
    ) -> int:
        """Return the units of such a position that others guard before those that had gone may come back to this plan (`machine/grown_units.py`)."""

    def sold_from_holdings(self, broker: str | None, instrument_id: str) -> int:
        """Return the units of a share that were sold in delivery today at a broker, or at all brokers together."""

    def stopped_by_others(self, broker: str | None, instrument_id: str, product: str, side: Side) -> int:
        """Return the units of other plans' stops that rest there on this side."""

    def being_closed(self, broker: str, instrument_id: str, product: str, side: Side) -> int:
        """Return the units that other plans' closes of positions have at the broker on this side of such a position, and that may still fill."""

    def exit_lock(self, broker: str | None) -> str | None:
        """Return why no exit can leave at this broker now (None: at any broker), or None: trading is halted wholly (4.10), the broker has no
        login, or its day's order messages are used up (4.5)."""
