"""The effects of a trade or a new status on an order: booked in its account, entered in the ledger, stored, and announced to listeners.

Everything here runs inside a transaction that `exchange.py` opened. `trading.py` decides what happens to which order.
"""

import functools
from collections.abc import Callable, Iterable
from decimal import Decimal

import attrs
import msgspec

from onebroker.brokers.simulator.exchange.accounts import Account, OrderEntry
from onebroker.brokers.simulator.exchange.changes import Changes
from onebroker.brokers.simulator.exchange.journal import Row
from onebroker.brokers.simulator.exchange.ledger import Ledger, LedgerFill
from onebroker.brokers.simulator.exchange.matching import Match
from onebroker.brokers.simulator.world.model import Contract, SimFill, SimOrder, SimStatus
from onebroker.config.clock import Clock

ORDER, STATE, ACCOUNT_FILL = "order", "state", "account_fill"
"""Kinds of journal rows."""
MARKET = "market"
"""The counterparty of a trade in which no account's order is on the other side."""


class Settlement:
    """Books the trades and statuses of all accounts' orders."""

    def __init__(self, accounts: dict[str, Account], clock: Clock, changes: Changes, ledger: Ledger) -> None:
        self._accounts, self._clock, self._changes, self._ledger = accounts, clock, changes, ledger
        self.listeners: dict[str, list[Callable[[SimOrder, SimFill | None], None]]] = {}
        """Broker code -> listeners that are told of changes to its orders."""

    # trades -----------------------------------------------------------------------------------------------------------

    def settle_all(self, contract: Contract, matches: Iterable[Match]) -> None:
        """Book the matches made by the market's own orders."""
        for match in matches:
            if match.resting is not None:
                account = self._accounts[match.resting[0]]
                entry = account.entry(match.resting[1])
                price = match.ticks * contract.tick_size
                self.settle(account, entry, match.quantity, price, self.next_trade(), MARKET)

    def exchange(self, account: Account, contract: Contract, entry: OrderEntry, match: Match) -> None:
        """Book one match of an incoming order, with the market or with another account's order."""
        price = match.ticks * contract.tick_size
        if match.resting is None:
            self.settle(account, entry, match.quantity, price, self.next_trade(), MARKET)
        else:
            other = self._accounts[match.resting[0]].entry(match.resting[1])
            self.both(other, entry, match.quantity, price)

    def both(self, entry: OrderEntry, other: OrderEntry, quantity: int, price: Decimal) -> None:
        """Book a trade between two orders of accounts, one side after the other."""
        trade_id = self.next_trade()
        for mine, theirs in ((entry, other), (other, entry)):
            name = f"{theirs.order.broker}:{theirs.order.order_id}"
            self.settle(self._accounts[mine.order.broker], mine, quantity, price, trade_id, name)

    def settle(
        self, account: Account, entry: OrderEntry, quantity: int, price: Decimal, trade_id: str, counterparty: str
    ) -> None:
        """Book one side of a trade. `counterparty` has the ledger's form."""
        order = entry.order
        now = self._clock.now()
        fill = SimFill(
            trade_id=trade_id, order_id=order.order_id, exchange_order_id=str(order.exchange_order_id),
            broker=account.code, instrument_id=order.new.instrument_id, side=order.new.side, product=order.new.product,
            quantity=quantity, price=price, at=now,
        )  # fmt: skip
        filled = order.filled_quantity + quantity
        entry.order = attrs.evolve(order, filled_quantity=filled, filled_value=order.filled_value + price * quantity)
        account.book_fill(fill)
        self._ledger_fill(fill, counterparty)
        status = SimStatus.COMPLETE if filled == order.quantity else SimStatus.OPEN
        self.put(account, entry, status=status, message=order.status_message, fill=fill)

    def _ledger_fill(self, fill: SimFill, counterparty: str) -> None:
        row = LedgerFill(
            trade_id=fill.trade_id, broker=fill.broker, order_id=fill.order_id, instrument_id=fill.instrument_id,
            side=fill.side, product=fill.product, quantity=fill.quantity, price=fill.price, at=fill.at.isoformat(),
            counterparty=counterparty,
        )  # fmt: skip
        self._changes.keep(self._ledger.add_fill(row))
        key = f"{fill.broker}|{fill.order_id}|{fill.trade_id}|{fill.side}"
        self._changes.keep(Row(ACCOUNT_FILL, key, msgspec.json.encode(fill)))

    # keeping ----------------------------------------------------------------------------------------------------------

    def put(
        self,
        account: Account,
        entry: OrderEntry,
        *,
        status: SimStatus,
        message: str | None = None,
        fill: SimFill | None = None,
    ) -> None:
        """Give an order its status, and tell the listeners when that is durable."""
        now = self._clock.now()
        order = attrs.evolve(entry.order, status=status, status_message=message, updated_at=now)
        if status in (SimStatus.OPEN, SimStatus.TRIGGER_PENDING) and order.exchange_order_id is None:
            order = attrs.evolve(order, exchange_order_id=self._next_exchange_order(), exchange_at=now)
        elif order.exchange_order_id is not None:
            order = attrs.evolve(order, exchange_at=now)
        entry.order = order
        number = account.put(entry)
        self.keep(account, entry)
        state = Row(STATE, f"{account.code}|{order.order_id}|{number}", msgspec.json.encode(order))
        self._changes.keep(state)
        self._changes.announce(lambda: self._tell(account.code, order, fill))

    def keep(self, account: Account, entry: OrderEntry) -> None:
        """Write an order and its account with the transaction."""
        self._changes.keep(Row(ORDER, f"{account.code}|{entry.order.order_id}", msgspec.json.encode(entry)))
        self._changes.keep_account(account)

    def keep_again(self, account: Account, instrument_ids: frozenset[str]) -> None:
        """Write everything of an account that names one of the instruments, because it names them in another way now."""
        self._changes.keep_account(account)
        for entry in account.entries():
            order = entry.order
            if order.new.instrument_id not in instrument_ids:
                continue
            self.keep(account, entry)
            for number, state in enumerate(account.order_history(order.order_id)):
                key = f"{account.code}|{order.order_id}|{number}"
                self._changes.keep(Row(STATE, key, msgspec.json.encode(state)))
            self._changes.announce(functools.partial(self._tell, account.code, order, None))
        for fill in account.all_fills():
            if fill.instrument_id in instrument_ids:
                key = f"{fill.broker}|{fill.order_id}|{fill.trade_id}|{fill.side}"
                self._changes.keep(Row(ACCOUNT_FILL, key, msgspec.json.encode(fill)))

    def _tell(self, code: str, order: SimOrder, fill: SimFill | None) -> None:
        for listener in tuple(self.listeners.get(code, ())):
            listener(order, fill)

    def next_priority(self) -> int:
        self._changes.counters.priority += 1
        return self._changes.counters.priority

    def next_trade(self) -> str:
        self._changes.counters.trade += 1
        return str(10_000_000 + self._changes.counters.trade)

    def _next_exchange_order(self) -> str:
        self._changes.counters.exchange_order += 1
        return f"11{self._changes.counters.exchange_order:014d}"
