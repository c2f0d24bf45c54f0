"""A trading day on which a test writes one share's book by hand, so that a worked example can be played as it stands: what is shown is
what was written, and nothing trades but what the test trades. Messages are read from the exchange's ledger."""

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal as D
from itertools import groupby
from typing import TYPE_CHECKING, Any, Self, TypeAlias, cast

import attrs
import trio

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.engine.context.messages import EngineAnswer
from onebroker.brokers.records import PositionRow
from onebroker.brokers.requests import CallKind, OutcomeUnknown, StreamAddress, WireRequest, WireResponse
from onebroker.brokers.simulator.exchange.accounts import Account
from onebroker.brokers.simulator.exchange.matching import Book, MakerLevel, Match, OrderRef
from onebroker.brokers.simulator.exchange.settlement import MARKET
from onebroker.brokers.simulator.world.model import NewOrder, RefusalReason, SimOrder, SimRefusal
from onebroker.brokers.transport.interface import FrameStream
from onebroker.config.vocabulary import OrderType, Product, Side, Validity
from tests.support.day import Day
from tests.support.plan_judge import histories
from tests.support.trading import Trading

if TYPE_CHECKING:
    from tests.support.day import DayTransport

ALPHA, BETA = "zerodha", "upstox"
"""The cheapest broker of an intraday share, and the other."""
SIZE = 500
"""Units at a touch of which the example says nothing."""


Price: TypeAlias = D | float | str
"""Rupees, as an example writes them."""


def bare(day: Day) -> Day:
    """Return a day whose accounts begin it with money alone: what they hold is what its test makes it, and no prices are streamed but those
    it is about. Before the day's first service."""
    for code in day.codes:
        account = day.exchange.account(code)
        account.begin_day(attrs.evolve(account.state, positions=[], holdings=[]))
    return day


class WrittenBook(Book):
    """Shows the written levels; orders rest in it until somebody trades with them by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.levels: dict[Side, list[tuple[int, int]]] = {Side.BUY: [], Side.SELL: []}

    def depth(self, side: Side, levels: int) -> list[tuple[int, int, int]]:
        return [(ticks, units, 1) for ticks, units in self.levels[side]][:levels]

    def quote(self, buy: list[MakerLevel], sell: list[MakerLevel]) -> None:
        """The market maker is not asked."""

    def take(self, side: Side, limit: int | None, quantity: int) -> list[Match]:
        return []

    def meet_maker(self) -> list[Match]:
        return []

    def flow(self, last_ticks: int, quantity: int, empty: Collection[Side] = ()) -> list[Match]:
        return []

    def reduce(self, ref: OrderRef, units: int) -> None:
        resting = self._by_ref[ref]
        self._reduce(resting.side, resting, units)


class Worked(Trading):
    """The share (or whatever `instrument` names) whose book is written; made anew after a restart it goes on with the same book."""

    def __init__(self, day: Day, number: int = 0, instrument: Instrument | None = None) -> None:
        if instrument is None:
            super().__init__(day, number)
        else:
            self.day, self.share, self.tick, self.sent = day, instrument, D(repr(instrument.tick_size)), 0
            self.quotes = day.quotes.follow([instrument.instrument_id])
        books = day.exchange._trading._books
        if not isinstance(books.get(self.share.instrument_id), WrittenBook):
            books[self.share.instrument_id] = WrittenBook()
        self.book = cast(WrittenBook, books[self.share.instrument_id])
        self.elsewhere: dict[OrderRef, str] = {}
        """(broker, order id) -> what an order is called that the service did not place."""
        self.begin()

    # --- time ----------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """The request is now: the seconds of the example are counted from here."""
        self.began = self.day.clock.now()

    async def second(self, seconds: float) -> None:
        """Let the day go on to so many seconds from the request."""
        wait = seconds - (self.day.clock.now() - self.began).total_seconds()
        assert wait >= 0, f"{-wait} s late for {seconds}"
        await trio.sleep(wait)

    # --- the market ----------------------------------------------------------------------------------------------------

    async def quote(
        self, last: Price, bid: Price | None = None, offer: Price | None = None, *,
        bids: Sequence[tuple[Price, int]] | None = None, offers: Sequence[tuple[Price, int]] | None = None,
    ) -> None:  # fmt: skip
        """Write the market and wait until the engine can see it; a touch left out is a tick beside `last`."""
        last = D(str(last))
        bids = [(last - self.tick if bid is None else bid, SIZE)] if bids is None else bids
        offers = [(last + self.tick if offer is None else offer, SIZE)] if offers is None else offers
        self.book.levels = {Side.BUY: self._levels(bids), Side.SELL: self._levels(offers)}
        self.day.simulator.set_price(self.share.instrument_id, last, 7 * 86_400)
        wanted = (float(last), *(float(side[0][0]) if side else None for side in (bids, offers)))
        await self.day.until(lambda: self._seen() == wanted, 10)

    def _levels(self, rows: Iterable[tuple[Price, int]]) -> list[tuple[int, int]]:
        return [(int(D(str(price)) / self.tick), units) for price, units in rows]

    def _seen(self) -> tuple[float | None, ...] | None:
        tick = self.day.quotes.usable_tick(self.share.instrument_id)
        if tick is None:
            return None
        assert tick.buy is not None
        assert tick.sell is not None
        touches = ([level.price for level in side if level.quantity] for side in (tick.buy, tick.sell))
        return (tick.last_price, *(prices[0] if prices else None for prices in touches))

    def _ref(self, name: str) -> OrderRef:
        if name in self.elsewhere.values():
            return next(ref for ref, called in self.elsewhere.items() if called == name)
        placed = [one for one in self.messages() if one["verb"] == "place" and one["order_id"]]
        return cast(OrderRef, tuple(placed[int(name[1:]) - 1][key] for key in ("broker", "order_id")))

    def fill(self, name: str, units: int | None = None, price: Price | None = None) -> None:
        """Somebody trades with an order (A1 is the first that was placed): all that is left and at its own price unless it is said."""
        exchange, (broker, order_id) = self.day.exchange, self._ref(name)
        account = exchange.account(broker)
        entry = account.entry(order_id)
        units = entry.order.pending_quantity if units is None else units
        price = entry.order.price if price is None else D(str(price))
        assert price is not None
        book = cast(WrittenBook, exchange._trading._books[entry.order.new.instrument_id])
        with exchange._changes.transaction():
            book.reduce((broker, order_id), units)
            settlement = exchange._trading._settlement
            settlement.settle(account, entry, units, price, settlement.next_trade(), MARKET)

    async def hold(self, units: int, *, product: str = "MIS", broker: str = ALPHA, price: Price | None = None) -> None:
        """The account has bought so many units (sold, when below zero) elsewhere, at the last price unless it is said; wait until its broker
        shows them."""
        self.trade(units, product=product, broker=broker, price=price)
        token = self.share.listings[broker].broker_token
        rows: Callable[[], Sequence[PositionRow]] = lambda: self.day.sessions[broker].view.value.positions  # noqa: E731
        await self.day.until(lambda: any(row.instrument_token == token and row.quantity == units for row in rows()), 60)

    def trade(self, units: int, *, product: str = "MIS", broker: str = ALPHA, price: Price | None = None) -> None:
        exchange, account = self.day.exchange, self.day.exchange.account(broker)
        contract = exchange.contract(self.share.instrument_id)
        assert contract is not None
        price = exchange.last_price(contract) if price is None else D(str(price))
        side = Side.BUY if units > 0 else Side.SELL
        with exchange._changes.transaction():
            exchange._trading.trade_at(account, contract, side, Product(product), abs(units), price, None)

    async def rest_elsewhere(self, name: str, side: str, units: int, price: Price, *, broker: str = ALPHA) -> None:
        """An order rests that was placed at the broker itself and is called `name` here; wait until its broker shows it."""
        new = NewOrder(
            instrument_id=self.share.instrument_id, side=Side(side), product=Product.MIS, order_type=OrderType.LIMIT,
            validity=Validity.DAY, quantity=units, price=D(str(price)),
        )  # fmt: skip
        order_id = self.day.exchange.account(broker).place(new).order_id
        self.elsewhere[broker, order_id] = name
        await self.day.until(lambda: order_id in self.day.sessions[broker].view.value.orders, 60)

    # --- what was said ---------------------------------------------------------------------------------------------------

    def spoken(self) -> list[tuple[float, str]]:
        """Every order message: seconds from the request, and its words."""
        messages = self.messages()
        placed = [one for one in messages if one["verb"] == "place" and one["order_id"]]
        names = {(one["broker"], one["order_id"]): f"A{number}" for number, one in enumerate(placed, 1)}
        names |= self.elsewhere
        types = {(one["broker"], one["order_id"]): one["order_type"] for one in self.day.ledger()["orders"]}
        return [(self._since(message["at"]), self._words(message, names, types)) for message in messages]

    def messages(self) -> list[dict[str, Any]]:  # type: ignore[override]  # whole messages where Trading tells four fields
        """The ledger's messages; orders and cancels that left together reach their broker in any order, so they stand as their parts and
        pieces do, of one part those to alpha first."""
        legs = [leg for one in histories(self.day).values() for leg in one[-1].legs]
        places = {leg.token: (leg.part, leg.piece, leg.broker != ALPHA, leg.leg_id) for leg in legs}
        of_orders = {(leg.broker, leg.order_id): places[leg.token] for leg in legs}

        def place(message: Mapping[str, Any]) -> tuple[str, int, bool, str]:
            found = places.get(message["tag"]) or of_orders.get((message["broker"], message["order_id"]))
            return found or ("", 0, False, "")

        told: list[dict[str, Any]] = []
        for (verb, _), group in groupby(self.day.ledger()["messages"], lambda one: (one["verb"], one["at"])):
            at_once = list(group)
            told += at_once if verb == "modify" else sorted(at_once, key=place)
        return told

    def _since(self, text: str) -> float:
        return round((datetime.fromisoformat(text) - self.began).total_seconds(), 1)

    def _words(self, message: Mapping[str, Any], names: Mapping[OrderRef, str], types: Mapping[OrderRef, str]) -> str:
        ref = (message["broker"], message["order_id"])
        other = "" if message["instrument_id"] == self.share.instrument_id else " of another"
        price, trigger = (None if message[key] is None else D(message[key]) for key in ("price", "trigger_price"))
        if message["verb"] == "cancel":
            return f"CANCEL {names[ref]}"
        if message["verb"] == "place":
            shown = f"SL {trigger:.2f}/{price:.2f}" if trigger is not None else f"{types.get(ref)} {price:.2f}"
            name = names[ref] if ref[1] else "refused"
            return f"PLACE {ref[0]} {message['side']} {message['quantity']}{other} {shown} -> {name}"
        changes = [] if message["quantity"] is None else [f"quantity {message['quantity']}"]
        if trigger is not None:
            changes.append(f"SL {trigger:.2f}/{price:.2f}" if price is not None else f"trigger {trigger:.2f}")
        elif price is not None:
            changes.append(f"price {price:.2f}")
        return f"MODIFY {names[ref]} {' '.join(changes)}"

    def said(self) -> list[str]:
        return [words for _, words in self.spoken()]

    async def says(self, *words: str, seconds: float = 5) -> None:
        """Wait until there are as many messages, and hold that they are these."""
        with contextlib.suppress(trio.TooSlowError):
            await self.day.until(lambda: len(self.day.ledger()["messages"]) >= len(words), seconds)
        assert self.said() == list(words), self.spoken()

    async def rests(self, name: str) -> str:
        """Wait until the engine has seen an order in its broker's book."""
        broker, order_id = self._ref(name)
        await self.day.until(lambda: order_id in self.day.sessions[broker].view.value.orders, 30)
        return order_id

    async def leg(self, answer: EngineAnswer, name: str) -> dict[str, Any]:
        """A parent's leg, by the name of its order."""
        broker, order_id = self._ref(name)
        legs: list[dict[str, Any]] = (await self.parent(answer))["legs"]
        return next(leg for leg in legs if (leg["broker"], leg["order_id"]) == (broker, order_id))

    def net(self, broker: str = ALPHA, product: str = "MIS") -> int:
        """Units that the account has bought less those it has sold."""
        return self.day.exchange.account(broker).net_quantity(self.share.instrument_id, Product(product))

    async def part(self, answer: EngineAnswer, path: str = "root") -> dict[str, Any]:
        part: dict[str, Any] = (await self.parent(answer))["parameters"]["parts"][path]
        return part

    async def states(self, answer: EngineAnswer) -> dict[str, str]:
        """The states of a parent (`plan`) and of its parts."""
        parent = await self.parent(answer)
        return {
            "plan": parent["state"],
            **{path: part["state"] for path, part in parent["parameters"]["parts"].items()},
        }

    async def stands(self, answer: EngineAnswer, *, seconds: float = 2, **states: str) -> None:
        """Wait until the parent (`plan`) and parts stand as said, and hold that they do; each part by the end of its path, dots as `_`."""
        wanted = states
        with contextlib.suppress(trio.TooSlowError), trio.fail_after(seconds):
            while await self._named_states(answer, wanted) != wanted:
                await trio.sleep(0.05)
        assert await self._named_states(answer, wanted) == wanted

    async def _named_states(self, answer: EngineAnswer, names: Iterable[str]) -> dict[str, str]:
        states = await self.states(answer)
        ends = {name: [path for path in states if f"_{path}".replace(".", "_").endswith(f"_{name}")] for name in names}
        return {name: states[paths[0]] for name, paths in ends.items() if len(paths) == 1}

    def passed(self, answer: EngineAnswer, path: str = "root") -> list[str]:
        """The states that a part was in, in their order, as they were written."""
        versions = histories(self.day)[answer.body["parent_id"]]
        return [state for state, _ in groupby(one.parts[path].state.value for one in versions if path in one.parts)]

    @contextlib.contextmanager
    def refusing(self, order_type: str) -> Iterator[None]:
        """Brokers refuse every order of that type."""
        trading: Any = self.day.exchange._trading  # whose method is replaced
        place: Callable[[Account, NewOrder], SimOrder] = trading.place

        def refused(account: Account, new: NewOrder) -> SimOrder:
            if new.order_type is OrderType(order_type):
                raise SimRefusal(RefusalReason.FORCED, "price band")
            return place(account, new)

        trading.place = refused
        try:
            yield
        finally:
            trading.place = place

    @contextlib.contextmanager
    def keeping(self, name: str, *, refused: bool) -> Iterator[None]:
        """The broker does not cancel that order: it refuses, or takes the cancel and does nothing for now."""
        trading: Any = self.day.exchange._trading  # whose method is replaced
        ref = self._ref(name)
        cancel: Callable[[Account, str], SimOrder] = trading.cancel

        def kept(account: Account, order_id: str) -> SimOrder:
            if (account.code, order_id) != ref:
                return cancel(account, order_id)
            if refused:
                raise SimRefusal(RefusalReason.FORCED, "cancellation is blocked")
            return account.entry(order_id).order

        trading.cancel = kept
        try:
            yield
        finally:
            trading.cancel = cancel


class Line:
    """The way to the brokers, on which order messages get `lost` before they arrive, or stay `unanswered` though they did.

    Takes the place of a day's transport for the services that are started after it."""

    def __init__(self, day: Day) -> None:
        self.state = "whole"
        open_transport = day.open_transport
        replaced: Any = day
        replaced.open_transport = lambda: _Held(open_transport(), self)


class _Held:
    def __init__(self, transport: "DayTransport", line: Line) -> None:
        self._transport, self._line = transport, line

    async def send(self, request: WireRequest, timeout_seconds: float) -> WireResponse:
        if request.kind is not CallKind.ORDER or self._line.state == "whole":
            return await self._transport.send(request, timeout_seconds)
        if self._line.state == "unanswered":
            await self._transport.send(request, timeout_seconds)
        await trio.sleep(timeout_seconds)
        raise OutcomeUnknown("no answer in time")

    async def connect(self, address: StreamAddress, timeout_seconds: float) -> FrameStream:
        return await self._transport.connect(address, timeout_seconds)

    async def __aenter__(self) -> Self:
        await self._transport.__aenter__()
        return self

    async def __aexit__(self, *details: Any) -> None:
        return await self._transport.__aexit__(*details)
