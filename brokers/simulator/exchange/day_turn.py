"""How the exchange's day ends and turns: square-off of intraday positions at the close, expiry, the next day's accounts.

`day_end.py` computes an account's next day. This module decides when, cancels the orders of expired contracts, and keeps the result. Everything here
runs inside a transaction that `exchange.py` opened.
"""

from datetime import date, datetime, timedelta
from datetime import time as time_of_day
from decimal import Decimal

import msgspec

from onebroker.brokers.simulator.exchange.accounts import Account, OrderEntry
from onebroker.brokers.simulator.exchange.changes import Changes
from onebroker.brokers.simulator.exchange.day_end import Closing, next_day
from onebroker.brokers.simulator.exchange.hours import Phase
from onebroker.brokers.simulator.exchange.journal import Row
from onebroker.brokers.simulator.exchange.listing_changes import (
    CORPORATE_ACTION,
    CorporateAction,
    scaled_holding,
)
from onebroker.brokers.simulator.exchange.settlement import ACCOUNT_FILL, ORDER, STATE
from onebroker.brokers.simulator.exchange.trading import Trading, World
from onebroker.brokers.simulator.world.model import Contract
from onebroker.config.calendars import Calendar
from onebroker.config.clock import IST, Clock, latest_boundary
from onebroker.config.instruments import TRADING_EXCHANGES
from onebroker.config.vocabulary import Product, Side

CALENDARS = ("equity", "currency", "commodity")
_EXPIRY_TIME, _TURN_TIME = time_of_day(15, 30), time_of_day(7)


class DayTurn:
    """The ends of sessions and days. `exchange.py` calls it at every step."""

    def __init__(
        self, world: World, accounts: dict[str, Account], trading: Trading, calendar: Calendar, clock: Clock,
        changes: Changes,
    ) -> None:  # fmt: skip
        self._world, self._accounts, self._trading = world, accounts, trading
        self._calendar, self._clock, self._changes = calendar, clock, changes
        self.actions: list[CorporateAction] = []
        self._closings: dict[tuple[str, str], float] = {}

    def square_off_at_close(self) -> None:
        """Close the intraday positions of every (exchange, calendar) whose session has just ended."""
        epoch = self._clock.epoch()
        for exchange in TRADING_EXCHANGES:
            for calendar in CALENDARS:
                closes = self._closings.get((exchange, calendar))
                if closes is not None and epoch >= closes:
                    del self._closings[exchange, calendar]
                    self._square_off((exchange, calendar))
                reading = self._world.board.hours.at(exchange, calendar, epoch)
                if reading.phase is Phase.OPEN:
                    self._closings[exchange, calendar] = reading.closes

    def turn(self) -> bool:
        """Begin the new day in the accounts that are still in an earlier day. Return whether there was such an account."""
        day = self.account_day()
        late = [account for account in self._accounts.values() if account.state.day < day]
        if not late:
            return False
        self._square_off(None)
        for account in late:
            self._settle(account, day)
        return True

    def account_day(self) -> date:
        """Return the last trading day whose 07:00 has passed."""
        day = latest_boundary(self._clock.now()).date()
        for _ in range(10):
            if any(self._calendar.is_session_day(e, c, day) for e in TRADING_EXCHANGES for c in CALENDARS):
                break
            day -= timedelta(days=1)
        return day

    def next_ex_at(self, contract: Contract) -> float:
        """Return 07:00 of the contract's next trading day, epoch seconds."""
        day = self.account_day() + timedelta(days=1)
        for _ in range(10):
            if self._calendar.is_session_day(contract.identity.exchange, contract.calendar, day):
                break
            day += timedelta(days=1)
        return datetime.combine(day, _TURN_TIME, IST).timestamp()

    def _square_off(self, group: tuple[str, str] | None) -> None:
        """Close the intraday positions of one (exchange, calendar), or of all, at the closing price, as brokers do."""
        for account in self._accounts.values():
            for position in account.held_positions():
                contract = self._contract(position.instrument_id)
                if contract is None or position.product is not Product.MIS or not position.quantity:
                    continue
                if group in (None, (contract.identity.exchange, contract.calendar)):
                    side = Side.SELL if position.quantity > 0 else Side.BUY
                    price = self._world.board.close_price(contract, self._clock.epoch())
                    units = abs(position.quantity)
                    self._trading.trade_at(account, contract, side, Product.MIS, units, price, "intraday square off")

    def _settle(self, account: Account, day: date) -> None:
        epoch = self._clock.epoch()
        for entry in account.entries():
            expiry = self._expiry_of(entry.order.new.instrument_id)
            if expiry is not None and expiry < day:
                self._trading.cancel_all(account, entry.order.new.instrument_id, "the contract has expired")
        due = [action for action in self.actions if account.state.day < action.ex_date <= day]
        for action in due:
            for instrument_id in self._world.universe.followers(action.instrument_id):
                self._trading.cancel_all(account, instrument_id, CORPORATE_ACTION)
        staying = [entry for entry in account.entries() if not entry.order.status.finished]
        closing = Closing(
            contract=self._contract,
            close=lambda contract: self._world.board.close_price(contract, epoch),
            settlement=lambda contract: self._settlement(contract, day),
        )
        state = next_day(account.state, account.held_positions(), day, closing)
        for action in due:
            listings = self._world.universe.followers(action.instrument_id)
            state.holdings = [
                scaled_holding(holding, action) if holding.instrument_id in listings else holding
                for holding in state.holdings
            ]
        for entry in account.entries():
            self._drop_states(account, entry)
        for fill in account.all_fills():
            key = f"{fill.broker}|{fill.order_id}|{fill.trade_id}|{fill.side}"
            self._changes.keep(Row(ACCOUNT_FILL, key, None))
        account.begin_day(state)
        for entry in staying:
            account.restore_order(entry, [entry.order])
            entry.day = day
            self._changes.keep(Row(ORDER, f"{account.code}|{entry.order.order_id}", msgspec.json.encode(entry)))
        self._changes.keep_account(account)

    def _drop_states(self, account: Account, entry: OrderEntry) -> None:
        order_id = entry.order.order_id
        for number in range(len(account.order_history(order_id))):
            self._changes.keep(Row(STATE, f"{account.code}|{order_id}|{number}", None))

    def _contract(self, instrument_id: str) -> Contract | None:
        return self._world.universe.by_id.get(instrument_id)

    def _expiry_of(self, instrument_id: str) -> date | None:
        contract = self._contract(instrument_id)
        text = None if contract is None else contract.identity.expiry_date
        return None if text is None else date.fromisoformat(text)

    def _settlement(self, contract: Contract, day: date) -> Decimal | None:
        expiry = self._expiry_of(contract.instrument_id)
        if expiry is None or expiry >= day:
            return None
        return self._world.prices.intrinsic(contract, datetime.combine(expiry, _EXPIRY_TIME, IST).timestamp())
