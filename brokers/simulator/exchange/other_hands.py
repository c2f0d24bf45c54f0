"""What a broker and the exchange do with an account by themselves: square off intraday positions before the close, annul a trade.

The broker's square-off has two steps, half a second apart, as an account's owner sees them: first every resting intraday order is cancelled, then a
market order for each intraday position goes into the book. So an API client that still wants to close meets cancelled orders first and then a flat
position. It is off until `square_off_at` names a time; without it positions are closed at the closing price (`day_turn.py`). No broker's page
(docs/brokers/) has the words of a square-off, so the words are general. Positions that an order opens after that time stay until the close.

An annulled trade disappears from the trade book, the filled quantity of its order goes down and the position follows. The other side of a trade
between two accounts is annulled with it. The units do not go back to the market: the order ends, as the exchange ends it.

Everything is in the ledger as an act of the hand that did it.
"""

from datetime import date, time

import attrs

from onebroker.brokers.simulator.exchange.accounts import Account
from onebroker.brokers.simulator.exchange.changes import Changes
from onebroker.brokers.simulator.exchange.journal import Row
from onebroker.brokers.simulator.exchange.ledger import Ledger
from onebroker.brokers.simulator.exchange.settlement import ACCOUNT_FILL
from onebroker.brokers.simulator.exchange.trading import Trading, World
from onebroker.brokers.simulator.world.model import Contract, NewOrder, SimFill, SimRefusal, SimStatus
from onebroker.config.clock import Clock
from onebroker.config.vocabulary import OrderType, Product, Side, Validity

SQUARED_OFF = "RMS: intraday square off"
ANNULLED = "trade annulled by the exchange"
_EQUITY = "equity"
"""The calendar whose intraday positions are squared off. Currency and commodity markets close later."""


class OtherHands:
    """Raises KeyError for a broker without an account."""

    def __init__(
        self, world: World, accounts: dict[str, Account], trading: Trading, clock: Clock, changes: Changes,
        ledger: Ledger,
    ) -> None:  # fmt: skip
        self._world, self._accounts, self._trading = world, accounts, trading
        self._clock, self._changes, self._ledger = clock, changes, ledger
        self._times: dict[str, time] = {}
        self._cancelled: dict[str, date] = {}
        """Broker -> the day on which it has cancelled the resting intraday orders."""
        self._closed: dict[str, date] = {}

    def square_off_at(self, broker: str, at: time | None) -> None:
        """Let a broker square off at this time of each day, IST; None switches it off. A restart of the simulator forgets it."""
        if broker not in self._accounts:
            raise KeyError(broker)
        if at is None:
            self._times.pop(broker, None)
        else:
            self._times[broker] = at

    def step(self) -> None:
        """Do what is due now. The exchange calls it at every step."""
        now = self._clock.now()
        today = now.date()
        for broker, at in self._times.items():
            if now.time() < at or self._closed.get(broker) == today:
                continue
            account = self._accounts[broker]
            if self._cancelled.get(broker) != today:
                self._cancelled[broker] = today
                self._cancel_intraday(account)
            else:
                self._closed[broker] = today
                self._close_intraday(account)

    def annul(self, broker: str, trade_id: str) -> None:
        """Annul a trade of today, on both sides. Raises ValueError if the account has no such trade."""
        if not any(fill.trade_id == trade_id for fill in self._accounts[broker].all_fills()):
            raise ValueError(f"{broker} has no trade {trade_id} today")
        with self._changes.transaction():
            for account in self._accounts.values():
                for fill in [fill for fill in account.all_fills() if fill.trade_id == trade_id]:
                    self._annul(account, fill)

    # parts ------------------------------------------------------------------------------------------------------------

    def _cancel_intraday(self, account: Account) -> None:
        for entry in account.entries():
            order = entry.order
            if order.status.finished or order.new.product is not Product.MIS or not self._due(order.new.instrument_id):
                continue
            self._trading.end(account, order.order_id, SimStatus.CANCELLED, SQUARED_OFF)
            self._note(account, "broker", "cancel", order.new.instrument_id, order_id=order.order_id)

    def _close_intraday(self, account: Account) -> None:
        for position in account.held_positions():
            if position.product is not Product.MIS or not position.quantity or not self._due(position.instrument_id):
                continue
            new = NewOrder(
                instrument_id=position.instrument_id, side=Side.SELL if position.quantity > 0 else Side.BUY,
                product=Product.MIS, order_type=OrderType.MARKET, validity=Validity.DAY,
                quantity=abs(position.quantity),
            )  # fmt: skip
            try:
                order = self._trading.place(account, new, why=SQUARED_OFF)
            except SimRefusal:  # the market is closed: the close itself squares off
                continue
            self._note(
                account, "broker", "square_off", new.instrument_id,
                order_id=order.order_id, product=new.product, side=new.side, quantity=new.quantity,
            )  # fmt: skip

    def _due(self, instrument_id: str) -> bool:
        contract: Contract | None = self._world.universe.by_id.get(instrument_id)
        return contract is not None and contract.calendar == _EQUITY

    def _annul(self, account: Account, fill: SimFill) -> None:
        entry = account.entry(fill.order_id)
        account.unbook_fill(fill)
        key = f"{fill.broker}|{fill.order_id}|{fill.trade_id}|{fill.side}"
        self._changes.keep(Row(ACCOUNT_FILL, key, None))
        self._changes.keep(self._ledger.remove_fill(fill.trade_id, account.code, fill.order_id, fill.side))
        entry.order = attrs.evolve(
            entry.order,
            filled_quantity=entry.order.filled_quantity - fill.quantity,
            filled_value=entry.order.filled_value - fill.price * fill.quantity,
        )
        self._trading.end(account, fill.order_id, SimStatus.CANCELLED, ANNULLED)
        self._note(
            account, "exchange", "annul", fill.instrument_id, order_id=fill.order_id, product=fill.product,
            side=fill.side, quantity=fill.quantity, price=fill.price,
        )  # fmt: skip

    def _note(self, account: Account, hand: str, verb: str, instrument_id: str, **more: object) -> None:
        at = self._clock.now().isoformat()
        self._changes.keep(self._ledger.add_act(at, hand, verb, account.code, instrument_id, **more))
