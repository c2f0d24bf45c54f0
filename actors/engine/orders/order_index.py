"""Which leg owns an order: by leg token first, then by the order id of the day (order-engine 2.3).

The engine notes its legs before they leave. Legs from before a restart are learnt from the store when a book shows their token. Where a row
has no token, its order id serves instead: some brokers keep none, a report of an order stream may lack the token that the book shows, and
trades have none. The engine's router learns them, and so do the documents of the order book
and the trade book before they are built, also while the engine waits for its lock; so an order of ours is never shown as somebody else's. An
order with a token that the store does not know either is one of the `strangers`: a store that came back without its last writes may have
forgotten it (order-engine K19, `recovering`).
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from datetime import date, timedelta

from onebroker.actors.engine.orders.leg_tokens import looks_like_token, may_be_cut
from onebroker.actors.engine.orders.lost_legs import FoundOrder
from onebroker.actors.engine.orders.parent_records import LegEntry, LegRecord, ParentRecord, decode_entry, entry_of
from onebroker.actors.portfolio.order_owners import LegOwner
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Store, StoreError
from onebroker.brokers.records import OrderRow, TradeRow

KEPT_DAYS = 8
"""How many days an order's token stays known."""


class Legs:
    """The leg index. It implements `legs.LegIndex` for the documents and the desk."""

    def __init__(self, today: Callable[[], str]) -> None:
        """`today` returns the current broking day, YYYY-MM-DD."""
        self._today = today
        self._led = False
        """Whether the engine of this process notes every leg. Before, another process may send orders."""
        self._by_token: dict[str, LegEntry] = {}
        self._by_order: dict[tuple[str, str], LegEntry] = {}
        self._day = ""
        self._strangers: dict[tuple[str, str], OrderRow] = {}
        """(broker, token) -> an order whose token neither this index nor the store knows."""
        self._found: list[FoundOrder] = []
        """Orders that the store had forgotten and that a broker, asked by token, has. No book showed them when the broker was asked."""
        self._nobodys: set[tuple[str, str]] = set()
        """(broker, order id) of orders whose rows show no token, and which are not ours by their ids either."""
        self._unfinished: dict[str, LegRecord] = {}
        """Leg id -> a leg that has not ended."""
        self._unsettled: dict[str, LegRecord] = {}
        """Leg id -> a leg that its broker may or may not have."""
        self._tagging: set[str] = set()
        """Brokers whose books have shown a token of ours."""
        self._traded: set[tuple[str, str]] = set()
        """(broker, instrument token) of today's legs."""
        self._version = 0
        """Counts the changes that concern every broker."""
        self._versions: Counter[str] = Counter()
        """Counts the other changes of each broker's legs."""

    def lead(self) -> None:
        """The engine has the lock and begins to note its legs. What nobody owned before may have got an owner meanwhile."""
        self.begin_day(self._today())
        self._led = True
        self._nobodys.clear()
        self._version += 1

    def follow(self) -> None:
        """The engine no longer has the lock: another process may send orders."""
        self._led = False

    def version_of(self, broker: str) -> int:
        if not self._led:
            self.begin_day(self._today())  # the engine does it afterwards
        return self._version + self._versions[broker]

    def entry(self, broker: str, order_id: str, tag: str | None) -> LegEntry | None:
        if tag is not None:
            entry = self._by_token.get(tag.lower())
            if entry is not None and entry.broker == broker:
                return entry
        return self._by_order.get((broker, order_id))

    # --- brokers that give our token back ---------------------------------------------------------------------------

    @property
    def tagging(self) -> frozenset[str]:
        """Brokers whose books are known to show our tokens. At the others, an order is identified by its terms."""
        return frozenset(self._tagging)

    def note_tagging(self, brokers: Collection[str]) -> None:
        self._tagging.update(brokers)

    # --- unsettled legs ---------------------------------------------------------------------------------------------

    @property
    def unfinished(self) -> Collection[LegRecord]:
        """Every leg that has not ended, of all parents."""
        return self._unfinished.values()

    @property
    def unsettled(self) -> Collection[LegRecord]:
        """Every leg that its broker may or may not have, of all parents."""
        return self._unsettled.values()

    @property
    def strangers(self) -> Mapping[tuple[str, str], OrderRow]:
        """(broker, token) -> today's order with a token that neither this index nor the store knows."""
        return self._strangers

    @property
    def found(self) -> Collection[FoundOrder]:
        """Today's orders that brokers have, as they answered when asked by token."""
        return tuple(self._found)

    @property
    def has_found(self) -> bool:
        return bool(self._found)

    def note_found(self, order: FoundOrder) -> None:
        self._found.append(order)

    def begins_one(self, broker: str, tag: str | None) -> str | None:
        """Return the token of the one unsettled leg whose token begins with a broker's shortened tag. None when there is no such leg, or several."""
        if tag is None or not may_be_cut(tag):
            return None
        found = [
            leg.token for leg in self._unsettled.values() if leg.broker == broker and leg.token.startswith(tag.lower())
        ]
        return found[0] if len(found) == 1 else None

    def owner(self, broker: str, order_id: str, tag: str | None) -> LegOwner | None:
        entry = self.entry(broker, order_id, tag)
        if entry is None:
            return None
        return LegOwner(
            parent_id=entry.parent_id,
            leg_id=entry.leg_id,
            synthetic_type=entry.synthetic_type,
            intent_id=entry.intent_id,
            leg_role=entry.leg_role,
            tag=entry.tag,
            entry_tag=entry.entry_tag,
        )

    def note(self, record: ParentRecord, leg: LegRecord) -> None:
        """Index a leg. Called before the leg is sent, and again when its order id is known."""
        entry = entry_of(record, leg)
        self._add(leg.token, leg.order_id, entry)
        self._strangers.pop((leg.broker, leg.token), None)
        if leg.state.final:
            self._unfinished.pop(leg.leg_id, None)
        else:
            self._unfinished[leg.leg_id] = leg
        if leg.state.unsettled and not leg.given_up:
            self._unsettled[leg.leg_id] = leg
        else:
            self._unsettled.pop(leg.leg_id, None)
        if leg.session_day >= self._day:
            self._traded.add((leg.broker, leg.instrument_token))

    def traded(self, broker: str, instrument_token: str) -> bool:
        """Whether an order of ours in this instrument was sent to the broker today, or is about to be sent."""
        return (broker, instrument_token) in self._traded

    def knows(self, row: OrderRow | TradeRow, broker: str) -> bool:
        """Whether everything that can be learnt about a row's owner is known."""
        token = _token_of(row)
        if token is not None:
            return self._is_leg(broker, token) or (broker, token) in self._strangers
        by_id = (broker, row.order_id)
        return by_id in self._by_order or by_id in self._nobodys

    async def learn(self, store: Store, row: OrderRow | TradeRow, broker: str) -> bool:
        """Ask the store which leg owns an order. An order that the store does not know is not asked again. False: the store did not answer."""
        token = _token_of(row)
        try:
            body = await store.get(
                keys.leg(broker, self._day, row.order_id) if token is None else keys.leg_token(token)
            )
        except StoreError:
            return False
        entry = decode_entry(body) if body is not None else None
        if entry is not None and entry.broker == broker:
            self._learnt(entry, token, row.order_id)
        elif token is None:
            if self._led:
                self._nobodys.add((broker, row.order_id))
        elif isinstance(row, OrderRow) and not self._is_leg(
            broker, token
        ):  # the engine may have noted the leg meanwhile
            self._strangers[broker, token] = row
        return True

    def _is_leg(self, broker: str, token: str) -> bool:
        entry = self._by_token.get(token)
        return entry is not None and entry.broker == broker

    def _learnt(self, entry: LegEntry, token: str | None, order_id: str) -> None:
        if token is None:
            self.shown(entry, order_id)
        else:
            self._add(token, order_id, entry)

    def shown(self, entry: LegEntry, order_id: str) -> None:
        """Note the order id under which the broker shows a leg today. It may differ from the earlier one, and trades name only the id."""
        if self._by_order.get((entry.broker, order_id)) != entry:
            self._by_order[(entry.broker, order_id)] = entry
            self._versions[entry.broker] += 1

    def forget(self) -> None:
        """Forget every leg: the store has lost some of them. A leg that it does not know must be found by its token again."""
        for known in (self._by_token, self._by_order, self._strangers, self._unfinished, self._unsettled):
            known.clear()
        self._found.clear()
        self._nobodys.clear()
        self._version += 1

    def begin_day(self, day: str) -> None:
        """Forget order ids of other days, because brokers reuse them, and tokens older than eight days."""
        if day == self._day:
            return
        self._day = day
        oldest = (date.fromisoformat(day) - timedelta(days=KEPT_DAYS)).isoformat()
        self._by_order = {key: entry for key, entry in self._by_order.items() if entry.session_day == day}
        self._by_token = {key: entry for key, entry in self._by_token.items() if entry.session_day >= oldest}
        self._strangers.clear()
        self._found.clear()
        self._nobodys.clear()
        self._traded.clear()
        self._version += 1

    def _add(self, token: str, order_id: str | None, entry: LegEntry) -> None:
        known = self._by_token.get(token.lower()) == entry
        self._by_token[token.lower()] = entry
        if order_id is not None and entry.session_day >= self._day:
            known = known and self._by_order.get((entry.broker, order_id)) == entry
            self._by_order[(entry.broker, order_id)] = entry
        if not known:
            self._versions[entry.broker] += 1


def _token_of(row: OrderRow | TradeRow) -> str | None:
    """Return the token that a row shows, in lower case. Trades show none."""
    if not isinstance(row, OrderRow) or row.tag is None or not looks_like_token(row.tag):
        return None
    return row.tag.lower()
