"""What happens to orders: taken, queued, triggered, matched, changed, cancelled, expired, squared off.

This module has the rules of an order's life. Accounts keep the results, `matching.py` the books, and `changes.py` makes them durable. Everything here
runs inside a transaction that `exchange.py` opened.
"""

import heapq
from collections.abc import Mapping
from decimal import Decimal

import attrs

from onebroker.brokers.simulator.exchange.accounts import Account, OrderEntry
from onebroker.brokers.simulator.exchange.changes import Changes
from onebroker.brokers.simulator.exchange.hours import Phase
from onebroker.brokers.simulator.exchange.ledger import Ledger
from onebroker.brokers.simulator.exchange.market_board import MarketBoard
from onebroker.brokers.simulator.exchange.matching import Book, Match, OrderRef, Resting
from onebroker.brokers.simulator.exchange.risk import refuse, refuse_terms, rejection, shortfall
from onebroker.brokers.simulator.exchange.settlement import MARKET, Settlement
from onebroker.brokers.simulator.world.model import Contract, NewOrder, RefusalReason, SimOrder, SimRefusal, SimStatus
from onebroker.brokers.simulator.world.universe import Universe
from onebroker.brokers.simulator.world.walks import Prices, step_of
from onebroker.config.clock import Clock
from onebroker.config.vocabulary import OrderType, Product, Side, Validity

MODIFIABLE = frozenset({"quantity", "price", "trigger_price", "order_type", "validity", "disclosed_quantity"})


@attrs.define
class World:
    """What is listed, and at what prices. Replaced when the day turns."""

    universe: Universe
    prices: Prices
    board: MarketBoard


class Trading:
    """Books, waiting stop orders and queued orders of all contracts."""

    def __init__(
        self, world: World, accounts: dict[str, Account], clock: Clock, changes: Changes, ledger: Ledger
    ) -> None:
        self._world, self._accounts = world, accounts
        self._clock, self._changes, self._ledger = clock, changes, ledger
        self._books: dict[str, Book] = {}
        self._refreshed: dict[str, int] = {}
        self._emptied: dict[str, dict[Side, float]] = {}
        self._stops: dict[str, list[OrderRef]] = {}
        self._queue: set[OrderRef] = set()
        self._expiries: list[tuple[float, OrderRef]] = []
        self._settlement = Settlement(accounts, clock, changes, ledger)
        self.listeners = self._settlement.listeners

    # messages of accounts ---------------------------------------------------------------------------------------------

    def place(self, account: Account, new: NewOrder, why: str | None = None) -> SimOrder:
        """Take a new order; see `AccountView.place`. `why` is the message of an order that the risk check accepts."""
        contract = account.contract(new.instrument_id)
        if contract is None:
            raise SimRefusal(RefusalReason.UNKNOWN_INSTRUMENT, "the instrument is not listed")
        refuse(contract, new)
        no_shares = account.want_of_shares(new, new.quantity)
        if no_shares is not None and not account.traits.want_of_shares_in_book:
            raise no_shares
        epoch = self._clock.epoch()
        phase = self._world.board.reading(contract, epoch).phase
        if phase is Phase.CLOSED and not new.after_market:
            raise SimRefusal(RefusalReason.MARKET_CLOSED, "the market is closed; place an after market order")
        entry = self._new_entry(account, contract, new, epoch)
        no = no_shares or self._objection(account, contract, entry.order, already=Decimal(0))
        if no is not None:
            self._settlement.put(account, entry, status=SimStatus.REJECTED, message=no.message)
        elif phase is Phase.CLOSED:
            self._settlement.put(account, entry, status=SimStatus.AFTER_MARKET, message=why)
            self._queue.add((account.code, entry.order.order_id))
        elif phase is Phase.PRE_OPEN:
            self._settlement.put(account, entry, status=SimStatus.OPEN, message=why)
            self._queue.add((account.code, entry.order.order_id))
        else:
            self._settlement.put(account, entry, status=_working_status(entry), message=why)
            self._work(account, contract, entry)
        heapq.heappush(self._expiries, (entry.expires_at, (account.code, entry.order.order_id)))
        return entry.order

    def modify(self, account: Account, order_id: str, changes: dict[str, object]) -> SimOrder:
        """Change a working order; see `AccountView.modify`."""
        if unknown := changes.keys() - MODIFIABLE:
            raise TypeError(f"an order has no {', '.join(sorted(unknown))} to modify")
        entry, contract = self._working(account, order_id)
        before = entry.order
        after: SimOrder = attrs.evolve(before, **changes)  # type: ignore[arg-type]  # names checked above, values below
        after = attrs.evolve(
            after,
            price=after.price if after.order_type.takes_price else None,
            trigger_price=after.trigger_price if after.order_type.takes_trigger else None,
        )
        refuse_terms(
            contract,
            after.order_type,
            after.quantity,
            after.disclosed_quantity,
            price=after.price,
            trigger_price=after.trigger_price,
        )
        if "disclosed_quantity" in changes and after.disclosed_quantity > after.quantity - before.filled_quantity:
            raise SimRefusal(RefusalReason.BAD_QUANTITY, "disclosed quantity must not exceed the remaining quantity")
        self._refuse_change(account, contract, before, after)
        self._leave(account, order_id, contract)
        if not _keeps_priority(before, after):
            entry.priority = self._settlement.next_priority()
        entry.order = attrs.evolve(after, modifications=before.modifications + 1)
        entry.triggered = entry.triggered and after.order_type.takes_trigger
        entry.resting_price = None
        queued = (account.code, order_id) in self._queue
        self._settlement.put(account, entry, status=before.status if queued else _working_status(entry))
        if not queued:
            self._work(account, contract, entry)
        return entry.order

    def cancel(self, account: Account, order_id: str) -> SimOrder:
        """Cancel a working order; see `AccountView.cancel`."""
        entry, contract = self._working(account, order_id)
        self._leave(account, order_id, contract)
        self._queue.discard((account.code, order_id))
        self._settlement.put(account, entry, status=SimStatus.CANCELLED)
        return entry.order

    # the market's time ------------------------------------------------------------------------------------------------

    def fill(self, account: Account, order_id: str, quantity: int) -> None:
        """Fill an order at its own price. The market's own flow trades with an order in the book, the auction with an order that waits for it."""
        known = account.known(order_id)
        match = None if known is None else self._met(account, known.order, quantity)
        if known is None or match is None:
            raise ValueError("no such order rests in the book with that quantity left")
        self._settlement.settle_all(self._world.universe.by_id[known.order.new.instrument_id], [match])
        if known.order.status.finished:
            self._queue.discard((account.code, order_id))

    def _met(self, account: Account, order: SimOrder, quantity: int) -> Match | None:
        ref = (account.code, order.order_id)
        if ref not in self._queue:
            book = self._books.get(order.new.instrument_id)
            return None if book is None else book.meet(*ref, quantity)
        if order.status is not SimStatus.OPEN or order.price is None or not 0 < quantity <= order.pending_quantity:
            return None  # belongs to another day, or is not there
        tick = self._world.universe.by_id[order.new.instrument_id].tick_size
        return Match(int(order.price / tick), quantity, ref)

    def step(self) -> None:
        """Let the market act on the working orders: the opening, new quotes, triggers."""
        epoch = self._clock.epoch()
        self._open(epoch)
        for instrument_id in self.working_contracts():
            contract = self._world.universe.by_id.get(instrument_id)
            if contract is not None:
                self.refresh(contract, epoch)

    def working_contracts(self) -> set[str]:
        """Return the contracts with orders in the book or waiting for a trigger."""
        waiting = {instrument_id for instrument_id, refs in self._stops.items() if refs}
        return waiting | {instrument_id for instrument_id, book in self._books.items() if book.has_orders}

    def forget_quotes(self, instrument_ids: frozenset[str]) -> None:
        """Make the market maker quote again within this step, because a price was set by hand."""
        for instrument_id in instrument_ids:
            self._refreshed.pop(instrument_id, None)

    def empty_side(self, instrument_id: str, side: Side, until: float) -> None:
        """Let nobody of the market be on a side of a book until a moment (epoch seconds). Orders of accounts stay."""
        self._emptied.setdefault(instrument_id, {})[side] = until
        self._refreshed.pop(instrument_id, None)

    def fresh(self, contract: Contract, epoch: float) -> tuple[bool, Book | None]:
        """Return whether a contract's book needs no `refresh` now, and the book; None while the contract does not trade continuously."""
        if contract.is_index or not self._world.board.is_open(contract, epoch):
            return True, None
        if self._refreshed.get(contract.instrument_id) != step_of(epoch):
            return False, None
        return True, self._books[contract.instrument_id]

    def refresh(self, contract: Contract, epoch: float) -> Book | None:
        """Bring a contract's book to the present step and return it. Return None while the contract does not trade continuously."""
        board = self._world.board
        if contract.is_index or not board.is_open(contract, epoch):
            return None
        instrument_id = contract.instrument_id
        book = self._books.setdefault(instrument_id, Book())
        step = step_of(epoch)
        if self._refreshed.get(instrument_id) == step:
            return book
        self._refreshed[instrument_id] = step
        empty = [side for side, until in self._emptied.get(instrument_id, {}).items() if epoch < until]
        buy, sell = board.maker_quotes(contract, epoch, self._settlement.next_priority())
        book.quote([] if Side.BUY in empty else buy, [] if Side.SELL in empty else sell)
        if book.has_orders:
            last = board.last_ticks(contract, epoch)
            self._settlement.settle_all(contract, book.meet_maker())
            self._settlement.settle_all(contract, book.flow(last, board.flow_units(contract, epoch), empty))
        self._trigger(contract, epoch)
        return book

    def adopt(self, account: Account, entry: OrderEntry) -> None:
        """Take up a stored order after a restart: put it back into the queue, the stops or the book."""
        order = entry.order
        if order.status.finished:
            return
        ref = (account.code, order.order_id)
        heapq.heappush(self._expiries, (entry.expires_at, ref))
        contract = self._world.universe.by_id[order.new.instrument_id]
        if order.status is SimStatus.AFTER_MARKET or entry.live_from > self._clock.epoch():
            self._queue.add(ref)
        elif order.status is SimStatus.TRIGGER_PENDING:
            self._stops.setdefault(contract.instrument_id, []).append(ref)
        else:
            self._rest(contract, account, entry)

    def trade_at(
        self,
        account: Account,
        contract: Contract,
        side: Side,
        product: Product,
        quantity: int,
        price: Decimal,
        why: str | None,
    ) -> None:
        """Enter a market order of the account that trades at once with the market maker. Used for square-offs and the seed."""
        new = NewOrder(
            instrument_id=contract.instrument_id, side=side, product=product, order_type=OrderType.MARKET,
            validity=Validity.DAY, quantity=quantity,
        )  # fmt: skip
        entry = self._new_entry(account, contract, new, self._clock.epoch())
        self._settlement.put(account, entry, status=SimStatus.OPEN, message=why)
        self._settlement.settle(account, entry, quantity, price, self._settlement.next_trade(), MARKET)

    def end(self, account: Account, order_id: str, status: SimStatus, why: str) -> None:
        """Give an order a final status, and take it out of book and queue. An order that has ended gets the new status too."""
        entry = account.entry(order_id)
        self._end(account, self._world.universe.by_id[entry.order.new.instrument_id], entry, status, why)

    def cancel_all(self, account: Account, instrument_id: str, why: str) -> None:
        """Cancel the working orders of an account in a contract."""
        contract = self._world.universe.by_id[instrument_id]
        for entry in account.entries():
            if entry.order.new.instrument_id == instrument_id and not entry.order.status.finished:
                self._end(account, contract, entry, SimStatus.CANCELLED, why)

    def rename(self, account: Account, names: Mapping[str, str], why: str) -> None:
        """End an account's working orders in contracts that get other ids (old id -> new id), and rename what it has in them."""
        for instrument_id in names:
            self.cancel_all(account, instrument_id, why)
        account.rename(names)
        self._settlement.keep_again(account, frozenset(names.values()))

    def close_contract(self, instrument_id: str) -> None:
        """Forget the book of a contract that is no longer listed."""
        for kept in (self._books, self._refreshed, self._stops):
            kept.pop(instrument_id, None)

    # taking -----------------------------------------------------------------------------------------------------------

    def _new_entry(self, account: Account, contract: Contract, new: NewOrder, epoch: float) -> OrderEntry:
        live_from, expires_at = self._world.board.hours.order_life(contract.identity.exchange, contract.calendar, epoch)
        now = self._clock.now()
        order = SimOrder(
            order_id=account.next_order_id(),
            exchange_order_id=None,
            broker=account.code,
            new=new,
            status=SimStatus.OPEN,
            status_message=None,
            quantity=new.quantity,
            price=new.price if new.order_type.takes_price else None,
            trigger_price=new.trigger_price if new.order_type.takes_trigger else None,
            order_type=new.order_type,
            validity=new.validity,
            disclosed_quantity=new.disclosed_quantity,
            filled_quantity=0,
            filled_value=Decimal(0),
            placed_at=now,
            updated_at=now,
            exchange_at=None,
        )
        return OrderEntry(
            order=order,
            day=account.state.day,
            priority=self._settlement.next_priority(),
            live_from=live_from,
            expires_at=expires_at,
        )

    def _objection(self, account: Account, contract: Contract, order: SimOrder, already: Decimal) -> SimRefusal | None:
        """The refusal for freeze, band or margin. `already` is the rupees that the order blocks now."""
        epoch = self._clock.epoch()
        no = rejection(contract, order, self._world.board.circuits(contract, epoch))
        if no is not None:
            return no
        price = order.price or order.trigger_price or self._world.board.last_price(contract, epoch)
        needed = account.required(contract, order, price) - already
        return shortfall(needed, account.true_funds().available)

    def _refuse_change(self, account: Account, contract: Contract, before: SimOrder, after: SimOrder) -> None:
        if after.quantity <= before.filled_quantity:
            raise SimRefusal(RefusalReason.BAD_QUANTITY, "quantity must be above what is already filled")
        pending = after.quantity - after.filled_quantity
        no_shares = account.want_of_shares(after.new, pending, apart_from=before.order_id)
        if no_shares is not None:
            raise no_shares
        no = self._objection(account, contract, after, already=account.blocked_by(before.order_id))
        if no is not None:
            raise no

    def _working(self, account: Account, order_id: str) -> tuple[OrderEntry, Contract]:
        entry = account.entry(order_id)
        contract = self._world.universe.by_id.get(entry.order.new.instrument_id)
        if contract is not None and not entry.order.status.finished:
            self.refresh(contract, self._clock.epoch())  # the order may have been filled since the last step
        if contract is None or entry.order.status.finished:
            raise SimRefusal(RefusalReason.ORDER_FINISHED, f"order {order_id} is already {entry.order.status.value}")
        return entry, contract

    # working ----------------------------------------------------------------------------------------------------------

    def _work(self, account: Account, contract: Contract, entry: OrderEntry) -> None:
        epoch = self._clock.epoch()
        book = self.refresh(contract, epoch)
        if entry.order.status is SimStatus.TRIGGER_PENDING:
            self._stops.setdefault(contract.instrument_id, []).append((account.code, entry.order.order_id))
            self._trigger(contract, epoch)
        elif book is not None:
            self._match(account, contract, entry, book)

    def _match(self, account: Account, contract: Contract, entry: OrderEntry, book: Book) -> None:
        order = entry.order
        limit = None if order.price is None else int(order.price / contract.tick_size)
        last_price = None
        for match in book.take(order.new.side, limit, order.quantity - order.filled_quantity):
            self._settlement.exchange(account, contract, entry, match)
            last_price = match.ticks * contract.tick_size
        if entry.order.status.finished:
            return
        if entry.order.validity is Validity.IOC:
            self._settlement.put(
                account, entry, status=SimStatus.CANCELLED, message="the unmatched part of an IOC order"
            )
            return
        if order.price is None:  # the unmatched part of a market order waits as a limit order
            entry.resting_price = last_price or self._world.board.last_price(contract, self._clock.epoch())
            self._settlement.keep(account, entry)
        self._rest(contract, account, entry)

    def _rest(self, contract: Contract, account: Account, entry: OrderEntry) -> None:
        order = entry.order
        price = order.price or entry.resting_price or self._world.board.last_price(contract, self._clock.epoch())
        book = self._books.setdefault(contract.instrument_id, Book())
        book.add(
            Resting(
                ref=(account.code, order.order_id),
                side=order.new.side,
                ticks=int(price / contract.tick_size),
                quantity=order.quantity - order.filled_quantity,
                priority=entry.priority,
                shown=order.disclosed_quantity,
            )
        )

    def _trigger(self, contract: Contract, epoch: float) -> None:
        refs = self._stops.get(contract.instrument_id)
        if not refs:
            return
        last = self._world.board.last_price(contract, epoch)
        for ref in tuple(refs):
            account = self._accounts[ref[0]]
            entry = account.entry(ref[1])
            order = entry.order
            if order.trigger_price is None or order.new.side.sign * (last - order.trigger_price) < 0:
                continue
            refs.remove(ref)
            entry.triggered = True
            self._settlement.put(account, entry, status=SimStatus.OPEN)
            self._match(account, contract, entry, self._books[contract.instrument_id])

    def _leave(self, account: Account, order_id: str, contract: Contract) -> None:
        ref = (account.code, order_id)
        book = self._books.get(contract.instrument_id)
        if book is not None:
            book.remove(ref)
        stops = self._stops.get(contract.instrument_id, [])
        if ref in stops:
            stops.remove(ref)

    def _end(self, account: Account, contract: Contract, entry: OrderEntry, status: SimStatus, why: str | None) -> None:
        self._leave(account, entry.order.order_id, contract)
        self._queue.discard((account.code, entry.order.order_id))
        self._settlement.put(account, entry, status=status, message=why)

    def expire(self) -> None:
        """End the orders whose last session is over."""
        epoch = self._clock.epoch()
        while self._expiries and self._expiries[0][0] <= epoch:
            _, (code, order_id) = heapq.heappop(self._expiries)
            account = self._accounts.get(code)
            entry = None if account is None else account.known(order_id)
            if account is None or entry is None or entry.order.status.finished or entry.expires_at > epoch:
                continue
            contract = self._world.universe.by_id[entry.order.new.instrument_id]
            self._end(account, contract, entry, SimStatus.EXPIRED, "the session is over")

    # the opening ------------------------------------------------------------------------------------------------------

    def _open(self, epoch: float) -> None:
        due: dict[str, list[OrderEntry]] = {}
        for code, order_id in sorted(self._queue):
            entry = self._accounts[code].entry(order_id)
            contract = self._world.universe.by_id[entry.order.new.instrument_id]
            if entry.live_from <= epoch and self._world.board.is_open(contract, epoch):
                due.setdefault(contract.instrument_id, []).append(entry)
        for instrument_id, entries in due.items():
            entries.sort(key=lambda entry: entry.priority)
            self._auction(self._world.universe.by_id[instrument_id], entries, epoch)

    def _auction(self, contract: Contract, entries: list[OrderEntry], epoch: float) -> None:
        """Trade queued orders at the opening price, first with each other, then with the market maker. The rest go to the book."""
        for entry in entries:
            account = self._accounts[entry.order.broker]
            self._queue.discard((account.code, entry.order.order_id))
            self._settlement.put(account, entry, status=_working_status(entry))
        price = self._world.board.last_price(contract, epoch)
        ready = {side: [entry for entry in entries if _meets(entry.order, side, price)] for side in Side}
        self._cross(ready[Side.BUY], ready[Side.SELL], price)
        for side in Side:
            left = self._world.board.auction_units(contract, epoch)
            for entry in ready[side]:
                units = min(left, entry.order.pending_quantity)
                if units > 0:
                    self._settlement.settle(
                        self._accounts[entry.order.broker], entry, units, price, self._settlement.next_trade(), MARKET
                    )
                    left -= units
        for entry in entries:
            if not entry.order.status.finished:
                self._work(self._accounts[entry.order.broker], contract, entry)

    def _cross(self, buys: list[OrderEntry], sells: list[OrderEntry], price: Decimal) -> None:
        for buy in buys:
            for sell in sells:
                units = min(buy.order.pending_quantity, sell.order.pending_quantity)
                if units > 0:
                    self._settlement.both(buy, sell, units, price)


def _working_status(entry: OrderEntry) -> SimStatus:
    waits = entry.order.order_type.takes_trigger and not entry.triggered
    return SimStatus.TRIGGER_PENDING if waits else SimStatus.OPEN


def _keeps_priority(before: SimOrder, after: SimOrder) -> bool:
    same = (before.price, before.trigger_price, before.order_type) == (
        after.price, after.trigger_price, after.order_type,
    )  # fmt: skip
    return same and after.quantity <= before.quantity


def _meets(order: SimOrder, side: Side, price: Decimal) -> bool:
    """Whether a queued order takes part in the auction, on a side, at a price."""
    if order.new.side is not side or order.status is not SimStatus.OPEN:
        return False
    return order.price is None or side.sign * (order.price - price) >= 0
