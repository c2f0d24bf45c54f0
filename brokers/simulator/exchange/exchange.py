"""The simulated exchange with its ten accounts: one synchronous object that everything else of the simulator drives.

Where to find things: `exchange.account(code)` is a broker's `AccountView` (dialect.py), implemented by `accounts.Account`; `exchange.tokens(code)` is
its `TokenStore`. `exchange.step()` lets half a second of market time pass, `set_price` moves a market, and `ledger` is the exchange's own truth.
Every change is in the journal before the call that made it returns. A new Exchange on the same journal continues where the last one stopped.
`trading.py` works the orders.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from decimal import Decimal

import attrs
import msgspec

from onebroker.brokers.simulator.exchange.accounts import Account, AccountListener, AccountState, OrderEntry
from onebroker.brokers.simulator.exchange.changes import Changes
from onebroker.brokers.simulator.exchange.day_turn import CALENDARS, DayTurn
from onebroker.brokers.simulator.exchange.faults import FaultKind, Faults
from onebroker.brokers.simulator.exchange.hours import Phase
from onebroker.brokers.simulator.exchange.journal import Journal, JournalTokens, Row
from onebroker.brokers.simulator.exchange.ledger import Action, Ledger
from onebroker.brokers.simulator.exchange.listing_changes import (
    EXPIRY_MOVED,
    CorporateAction,
    MovedExpiry,
    moved_ids,
    refuse_move,
    with_moved_expiries,
)
from onebroker.brokers.simulator.exchange.market_board import MarketBoard
from onebroker.brokers.simulator.exchange.other_hands import OtherHands
from onebroker.brokers.simulator.exchange.person import Person
from onebroker.brokers.simulator.exchange.seeding import HOLDINGS, seed_account
from onebroker.brokers.simulator.exchange.settlement import ACCOUNT_FILL, ORDER, STATE
from onebroker.brokers.simulator.exchange.trading import Trading, World
from onebroker.brokers.simulator.world.broker_traits import BROKERS, BrokerTraits
from onebroker.brokers.simulator.world.candles import CandleRow
from onebroker.brokers.simulator.world.model import (
    Contract,
    Market,
    NewOrder,
    RefusalReason,
    SimFill,
    SimOrder,
    SimRefusal,
)
from onebroker.brokers.simulator.world.past import past_of
from onebroker.brokers.simulator.world.universe import build_universe
from onebroker.brokers.simulator.world.walks import Hold, Prices
from onebroker.config.calendars import Calendar, JoinedCalendar
from onebroker.config.clock import Clock
from onebroker.config.instruments import TRADING_EXCHANGES
from onebroker.config.vocabulary import Side

DEFAULT_HOLD_SECONDS = 60.0
_META, _HOLD, _ACCOUNT, _ACTION, _MOVE = "meta", "hold", "account", "action", "move"


@attrs.frozen(kw_only=True)
class Made:
    number: int
    """Number of instruments."""
    seed: int
    first_day: date


class _Meta(msgspec.Struct):
    """The inputs from which a data directory was made. They do not change."""

    number: int
    seed: int
    listed_on: date
    """The day for which the derivatives are listed. It moves on as days pass."""
    made_on: date | None = None
    """The first day; None in a data directory that is older than this field."""

    @property
    def first_day(self) -> date:
        return self.made_on or self.listed_on


class _StoredHold(msgspec.Struct):
    instrument_id: str
    start: float
    end: float
    price: float


class Exchange:
    """See the module's docstring. Construct it where the clock runs; call it from one task only."""

    def __init__(
        self,
        *,
        brokers: Sequence[str],
        number: int,
        seed: int,
        calendar: Calendar,
        clock: Clock,
        journal: Journal,
        faults: Faults,
        traits: Mapping[str, BrokerTraits] = BROKERS,
        past_calendar: Calendar | None = None,
        holdings: int = HOLDINGS,
    ) -> None:
        """`past_calendar` knows the days before the first day. If None, `calendar` is used for them too. A new account begins with so many
        `holdings`."""
        self._clock, self._journal, self._faults = clock, journal, faults
        self._holdings = holdings
        self._meta = self._load_meta(number, seed)
        self._calendar = JoinedCalendar(past_calendar or calendar, self._meta.first_day, calendar)
        self._changes = Changes(journal)
        self.ledger = Ledger(journal)
        self._holds = [msgspec.json.decode(value, type=_StoredHold) for _, value in journal.load(_HOLD)]
        self._corporate = [msgspec.json.decode(value, type=CorporateAction) for _, value in journal.load(_ACTION)]
        self._moves = [msgspec.json.decode(value, type=MovedExpiry) for _, value in journal.load(_MOVE)]
        self._world = self._build_world(self._meta.listed_on)
        self._brokers = tuple(brokers)
        # Brokers that are not started this time still have accounts: their orders expire and their days turn.
        codes = dict.fromkeys([*brokers, *(code for code, _ in journal.load(_ACCOUNT))])
        self._accounts = {code: Account(code, traits[code], self, clock, faults) for code in codes}
        self._trading = Trading(self._world, self._accounts, clock, self._changes, self.ledger)
        self._day_turn = DayTurn(self._world, self._accounts, self._trading, self._calendar, clock, self._changes)
        self._day_turn.actions = self._corporate
        self.person = Person(self._world, self._accounts, self._trading, clock, self._changes, self.ledger)
        """A person at the brokers' own apps."""
        self.hands = OtherHands(self._world, self._accounts, self._trading, clock, self._changes, self.ledger)
        """The brokers and the exchange themselves."""
        self._archive: dict[tuple[str, str], SimOrder] = {}
        self._actions: list[Action] | None = None
        self._open_groups: tuple[object, frozenset[str]] = (None, frozenset())
        self.before_order: Callable[[str], None] = _no_check
        """Called with the broker before each order message. The host counts the message against the broker's limits."""
        for code in codes:
            self.listen(code, self._remember)
        self._open_accounts()

    @property
    def made(self) -> "Made":
        """The inputs of the universe and its past. They stay the same for the life of the data directory."""
        return Made(number=self._meta.number, seed=self._meta.seed, first_day=self._meta.first_day)

    # for hosts and control --------------------------------------------------------------------------------------------

    @property
    def clock(self) -> Clock:
        return self._clock

    @property
    def brokers(self) -> tuple[str, ...]:
        """The brokers that were started."""
        return self._brokers

    def account(self, code: str) -> Account:
        """Return a broker's account; raise KeyError for a broker that was not started."""
        return self._accounts[code]

    def tokens(self, code: str) -> JournalTokens:
        """Return the durable values of a broker's dialect."""
        return JournalTokens(self._journal, code)

    def listen(self, code: str, listener: AccountListener) -> None:
        """Call `listener` after every change to an order of the account."""
        self._trading.listeners.setdefault(code, []).append(listener)

    def step(self) -> frozenset[str]:
        """Let the market act up to now. Return the instruments whose markets may have moved."""
        with self._changes.transaction():
            self._trading.expire()
            self._day_turn.square_off_at_close()
            self._turn_day()
            self._trading.step()
            self.hands.step()
        return self._trading_now()

    def set_price(
        self, instrument_id: str, price: Decimal, hold_seconds: float = DEFAULT_HOLD_SECONDS
    ) -> frozenset[str]:
        """Move a market to a price, hold it there, and match the orders that it crosses. Return the instruments that moved.

        Raises KeyError for an unknown instrument, and ValueError for a price off the tick grid or outside the circuit band.
        """
        contract = self._world.universe.by_id[instrument_id]
        epoch = self._clock.epoch()
        lower, upper = (ticks * contract.tick_size for ticks in self._world.board.circuits(contract, epoch))
        if price <= 0 or price % contract.tick_size:
            raise ValueError(f"last_price must be a multiple of the tick size {contract.tick_size}")
        if not lower <= price <= upper:
            raise ValueError(f"last_price must be within the circuit limits {lower} and {upper}")
        hold = _StoredHold(instrument_id, epoch, epoch + hold_seconds, float(price))
        with self._changes.transaction():
            self._holds.append(hold)
            self._changes.keep(Row(_HOLD, str(len(self._holds)), msgspec.json.encode(hold)))
            self._world.prices.hold(contract, Hold(hold.start, hold.end, hold.price))
            followers = self._world.universe.followers(instrument_id)
            self._world.board.forget(followers)
            self._trading.forget_quotes(followers)
            for other in sorted(followers & self._trading.working_contracts()):
                self._trading.refresh(self._world.universe.by_id[other], epoch)
        return followers

    def empty_side(self, instrument_id: str, side: Side, seconds: float = DEFAULT_HOLD_SECONDS) -> None:
        """Let nobody of the market bid (BUY) or offer (SELL) in an instrument for a time. A restart forgets it. Raises KeyError for an unknown
        instrument."""
        contract = self._world.universe.by_id[instrument_id]
        epoch = self._clock.epoch()
        with self._changes.transaction():
            self._trading.empty_side(instrument_id, side, epoch + seconds)
            self._trading.refresh(contract, epoch)

    def circuit(self, instrument_id: str, empty: Side, seconds: float = DEFAULT_HOLD_SECONDS) -> frozenset[str]:
        """Move a market to its circuit limit and hold it there: the lower limit, where nobody bids (BUY), or the upper limit, where nobody offers
        (SELL). Return the instruments that moved."""
        contract = self._world.universe.by_id[instrument_id]
        lower, upper = self._world.board.circuits(contract, self._clock.epoch())
        self.empty_side(instrument_id, empty, seconds)
        limit = lower if empty is Side.BUY else upper
        return self.set_price(instrument_id, limit * contract.tick_size, seconds)

    def bonus(self, instrument_id: str, had: int, has: int) -> CorporateAction:
        """Let `had` units of a share become `has` units with the next trading day: a bonus or split. Raises KeyError for an unknown instrument, and
        ValueError for an instrument that takes none."""
        contract = self._world.universe.by_id[instrument_id]
        followers = [self._world.universe.by_id[key] for key in self._world.universe.followers(instrument_id)]
        if any(follower.bare != "equities" for follower in followers) or not 0 < had != has > 0:
            raise ValueError("a corporate action needs a share without derivatives, and two numbers of units")
        ex_at = self._day_turn.next_ex_at(contract)
        action = CorporateAction(instrument_id=instrument_id, ex_at=ex_at, had=had, has=has)
        with self._changes.transaction():
            self._corporate.append(action)
            self._changes.keep(Row(_ACTION, str(len(self._corporate)), msgspec.json.encode(action)))
        self._world.prices.scale(contract, action.ex_at, action.factor)
        return action

    def move_expiry(self, exchange: str, underlying: str, old: date, new: date) -> dict[str, str]:
        """Give the contracts of an underlying that expire on one day another expiry, under the same exchange numbers. Best between two days: working
        orders end. Return old id -> new id. Raises ValueError for a move that `refuse_move` refuses."""
        move = MovedExpiry(exchange=exchange, underlying=underlying, old=old.isoformat(), new=new.isoformat())
        refuse_move(self._world.universe, move)
        names = dict(moved_ids(self._world.universe, move))
        with self._changes.transaction():
            for account in self._accounts.values():
                self._trading.rename(account, names, EXPIRY_MOVED)
            for instrument_id in names:
                self._trading.close_contract(instrument_id)
            self._moves.append(move)
            self._changes.keep(Row(_MOVE, str(len(self._moves)), msgspec.json.encode(move)))
            self._rebuild(self._meta.listed_on)
        return names

    def fill(self, broker: str, order_id: str, quantity: int) -> None:
        """Trade `quantity` units of a resting order at its price. Raises KeyError for an unknown broker, and ValueError if no such order rests with
        that quantity left."""
        with self._changes.transaction():
            self._trading.fill(self._accounts[broker], order_id, quantity)

    def set_available(self, broker: str, rupees: Decimal) -> None:
        """Make the money that new orders of an account may use `rupees`. Raises KeyError for an unknown broker."""
        with self._changes.transaction():
            self._accounts[broker].set_available(rupees)
            self._changes.keep_account(self._accounts[broker])

    @contextmanager
    def request(self) -> Iterator[list[Action]]:
        """Collect the order messages that one client request causes. Their changes are on disk when the block ends."""
        with self._changes.transaction():
            actions: list[Action] = []
            self._actions = actions
            try:
                yield actions
            finally:
                self._actions = None

    def record(
        self,
        broker: str,
        actions: Sequence[Action],
        *,
        raw: Mapping[str, str],
        answer: Mapping[str, str],
        delivered: bool,
    ) -> list[int]:
        """Enter order messages in the ledger, with their request and answer. Return their numbers."""
        at = self._clock.now().isoformat()
        numbers = []
        with self._changes.transaction():
            for action in actions:
                numbers.append(self.ledger.next)
                row = self.ledger.add_message(action, at=at, broker=broker, raw=raw, answer=answer, delivered=delivered)
                self._changes.keep(row)
        return numbers

    def answer_lost(self, numbers: Sequence[int]) -> None:
        """Mark messages whose answer did not reach the client."""
        with self._changes.transaction():
            for row in self.ledger.not_delivered(list(numbers)):
                self._changes.keep(row)

    def all_orders(self) -> list[SimOrder]:
        """Return every order since the data directory was made, oldest first, in its present or final state."""
        return list(self._archive.values())

    def remember(self, name: str, value: str) -> None:
        """Store a small value durably, such as the ports."""
        self._journal.write([Row(_META, f"value|{name}", value.encode())])

    def recall(self, name: str) -> str | None:
        """Return a value stored by `remember`, or None."""
        value = dict(self._journal.load(_META)).get(f"value|{name}")
        return None if value is None else value.decode()

    def close(self) -> None:
        """Release the journal. It already holds everything."""
        self._journal.close()

    # OrderDesk, for accounts ------------------------------------------------------------------------------------------

    def contract(self, instrument_id: str) -> Contract | None:
        return self._world.universe.by_id.get(instrument_id)

    def contracts(self) -> Sequence[Contract]:
        return self._world.universe.contracts

    def market(self, instrument_id: str) -> Market:
        contract = self._world.universe.by_id[instrument_id]
        epoch = self._clock.epoch()
        is_fresh, book = self._trading.fresh(contract, epoch)
        if not is_fresh:
            with self._changes.transaction():
                book = self._trading.refresh(contract, epoch)
        return self._world.board.market(contract, epoch, book, 0)

    def last_price(self, contract: Contract) -> Decimal:
        return self._world.board.last_price(contract, self._clock.epoch())

    def candles(self, contract: Contract, interval: str, first: date, last: date) -> Sequence[CandleRow]:
        return self._world.board.candles(contract, interval, first, last, self._clock.epoch())

    def place(self, account: Account, new: NewOrder) -> SimOrder:
        action = Action(
            verb="place", order_id=None, tag=new.tag, instrument_id=new.instrument_id, side=new.side,
            quantity=new.quantity, price=new.price, trigger_price=new.trigger_price,
        )  # fmt: skip

        def placed() -> SimOrder:
            if self._faults.strike(account.code, FaultKind.REJECT_ORDERS, (new.instrument_id,), new.order_type):
                raise SimRefusal(RefusalReason.FORCED, "order entry is blocked")
            return self._trading.place(account, new)

        return self._act(account, action, placed)

    def modify(self, account: Account, order_id: str, changes: dict[str, object]) -> SimOrder:
        wanted = {key: changes.get(key) for key in ("quantity", "price", "trigger_price")}
        action = msgspec.convert({**self._named(account, order_id), "verb": "modify", **wanted}, Action)
        return self._act(account, action, lambda: self._trading.modify(account, order_id, changes))

    def cancel(self, account: Account, order_id: str) -> SimOrder:
        action = msgspec.convert({**self._named(account, order_id), "verb": "cancel"}, Action)
        entry = account.known(order_id)
        order_type = None if entry is None else entry.order.new.order_type

        def cancelled() -> SimOrder:
            if self._faults.strike(account.code, FaultKind.REJECT_CANCELS, (action.instrument_id,), order_type):
                raise SimRefusal(RefusalReason.FORCED, "cancellation is blocked")
            return self._trading.cancel(account, order_id)

        return self._act(account, action, cancelled)

    def _act(self, account: Account, action: Action, act: Callable[[], SimOrder]) -> SimOrder:
        self.before_order(account.code)
        with self._changes.transaction():
            try:
                order = act()
            except SimRefusal:
                self._note(action)
                raise
            self._note(msgspec.structs.replace(action, order_id=order.order_id))
        return account.known(order.order_id).order  # type: ignore[union-attr]  # just placed or found

    def _note(self, action: Action) -> None:
        if self._actions is not None:
            self._actions.append(action)

    @staticmethod
    def _named(account: Account, order_id: str) -> dict[str, object]:
        entry = account.known(order_id)
        if entry is None:
            return {"order_id": order_id}
        new = entry.order.new
        return {"order_id": order_id, "tag": new.tag, "instrument_id": new.instrument_id, "side": new.side}

    # the day ----------------------------------------------------------------------------------------------------------

    def _trading_now(self) -> frozenset[str]:
        epoch = self._clock.epoch()
        key = tuple(
            (exchange, calendar)
            for exchange in TRADING_EXCHANGES
            for calendar in CALENDARS
            if self._world.board.hours.at(exchange, calendar, epoch).phase is Phase.OPEN
        )
        if self._open_groups[0] != (key, self._meta.listed_on):
            ids = frozenset(
                contract.instrument_id
                for contract in self._world.universe.contracts
                if (contract.identity.exchange, contract.calendar) in key
            )
            self._open_groups = ((key, self._meta.listed_on), ids)
        return self._open_groups[1]

    def _turn_day(self) -> None:
        if self._day_turn.turn() and self._clock.today() != self._meta.listed_on:
            self._relist(self._clock.today())

    def _relist(self, day: date) -> None:
        old = self._world.universe.by_id
        self._meta.listed_on = day
        self._changes.keep(Row(_META, "made", msgspec.json.encode(self._meta)))
        self._rebuild(day)
        for instrument_id in old.keys() - self._world.universe.by_id.keys():
            self._trading.close_contract(instrument_id)

    def _rebuild(self, day: date) -> None:
        fresh = self._build_world(day)
        self._world.universe, self._world.prices, self._world.board = fresh.universe, fresh.prices, fresh.board

    # beginning --------------------------------------------------------------------------------------------------------

    def _load_meta(self, number: int, seed: int) -> _Meta:
        stored = dict(self._journal.load(_META)).get("made")
        if stored is not None:
            meta = msgspec.json.decode(stored, type=_Meta)
            meta.made_on = meta.first_day
            return meta
        today = self._clock.today()
        meta = _Meta(number, seed, today, today)
        self._journal.write([Row(_META, "made", msgspec.json.encode(meta))])
        return meta

    def _build_world(self, day: date) -> World:
        built = build_universe(self._meta.number, self._meta.seed, day, self._calendar.is_session_day)
        universe = with_moved_expiries(built, self._moves)
        past = past_of(universe, self._meta.first_day, self._calendar.is_session_day)
        prices = Prices(universe, self._meta.seed, past)
        for hold in self._holds:
            contract = universe.by_id.get(hold.instrument_id)
            if contract is not None:
                prices.hold(contract, Hold(hold.start, hold.end, hold.price))
        for action in self._corporate:
            prices.scale(universe.by_id[action.instrument_id], action.ex_at, action.factor)
        return World(universe, prices, MarketBoard(prices, self._calendar, past))

    def _open_accounts(self) -> None:
        stored = dict(self._journal.load(_ACCOUNT))
        with self._changes.transaction():
            for code, account in self._accounts.items():
                if code in stored:
                    self._restore(account, msgspec.json.decode(stored[code], type=AccountState))
                else:
                    self._seed(account)
            self._adopt_orders()
            self._trading.expire()
            self._turn_day()

    def _restore(self, account: Account, state: AccountState) -> None:
        rows = self._journal.load(ACCOUNT_FILL)
        fills = [msgspec.json.decode(value, type=SimFill) for key, value in rows if key.startswith(f"{account.code}|")]
        account.restore(state, fills)

    def _seed(self, account: Account) -> None:
        account.state.day = self._day_turn.account_day()
        seeded = seed_account(account, account.state, self._meta.seed, self._holdings)
        account.begin_day(seeded.state)
        price = self.last_price(seeded.traded)
        self._trading.trade_at(account, seeded.traded, seeded.side, seeded.product, seeded.quantity, price, None)
        account.state.cash += Decimal(10_000_000) - account.true_funds().available

    def _adopt_orders(self) -> None:
        states: dict[str, list[SimOrder]] = {}
        for key, value in self._journal.load(STATE):
            states.setdefault(key.rpartition("|")[0], []).append(msgspec.json.decode(value, type=SimOrder))
        entries = [(key, msgspec.json.decode(value, type=OrderEntry)) for key, value in self._journal.load(ORDER)]
        for _, entry in entries:
            self._remember(entry.order, None)
        for key, entry in sorted(entries, key=lambda item: item[1].priority):
            account = self._accounts.get(entry.order.broker)
            if account is not None and entry.day == account.state.day and account.known(entry.order.order_id) is None:
                account.restore_order(entry, states.get(key, [entry.order]))
                self._trading.adopt(account, entry)

    def _remember(self, order: SimOrder, _fill: SimFill | None) -> None:
        self._archive[order.broker, order.order_id] = order


def _no_check(_broker: str) -> None:
    """Let every order message pass."""
