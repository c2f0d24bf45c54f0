"""Whose an order is: by leg token first, then by the order id of the day (order-engine 2.3).

The engine notes its legs before they leave. Legs of before a restart are learnt from the store when a book shows their token:
by the engine's router, and by the order book's document before it is built, so that an order of ours is never shown as
somebody else's.
"""

from datetime import date, timedelta

from onebroker.actors.engine.legs import LegOwner
from onebroker.actors.engine.records import LegEntry, LegRecord, ParentRecord, decode_entry, entry_of
from onebroker.actors.engine.tokens import looks_like_token
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Store, StoreError
from onebroker.brokers.records import OrderRow

KEPT_DAYS = 8
"""How long an order's token is known."""


class Legs:
    """The leg index; implements `legs.LegIndex` for the documents and the desk."""

    def __init__(self) -> None:
        self._by_token: dict[str, LegEntry] = {}
        self._by_order: dict[tuple[str, str], LegEntry] = {}
        self._day = ""
        self._unknown: set[str] = set()
        """Tokens the store does not know either."""
        self._traded: set[tuple[str, str]] = set()
        """(broker, instrument token) of today's legs."""
        self._version = 0

    @property
    def version(self) -> int:
        return self._version

    def entry(self, broker: str, order_id: str, tag: str | None) -> LegEntry | None:
        if tag is not None:
            entry = self._by_token.get(tag.lower())
            if entry is not None and entry.broker == broker:
                return entry
        return self._by_order.get((broker, order_id))

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
        )

    def note(self, record: ParentRecord, leg: LegRecord) -> None:
        """Index a leg: called before it is sent, and again when its order id is known."""
        entry = entry_of(record, leg)
        self._add(leg.token, leg.order_id, entry)
        if leg.session_day >= self._day:
            self._traded.add((leg.broker, leg.instrument_token))

    def traded(self, broker: str, instrument_token: str) -> bool:
        """Whether an order of ours in this instrument was sent to the broker today, or is about to be."""
        return (broker, instrument_token) in self._traded

    def knows(self, row: OrderRow, broker: str) -> bool:
        """Whether nothing more can be learnt about a row's owner."""
        if not looks_like_token(row.tag) or row.tag is None:
            return True
        token = row.tag.lower()
        return token in self._by_token or token in self._unknown

    async def learn(self, store: Store, row: OrderRow, broker: str) -> bool:
        """Ask the store whose token a row carries; one it does not know is not asked again. False: it could not be asked."""
        assert row.tag is not None
        token = row.tag.lower()
        try:
            body = await store.get(keys.leg_token(token))
        except StoreError:
            return False
        entry = decode_entry(body) if body is not None else None
        if entry is None or entry.broker != broker:
            self._unknown.add(token)
        else:
            self._add(token, row.order_id, entry)
        return True

    def shown(self, entry: LegEntry, order_id: str) -> None:
        """Note under which id the broker shows a leg today: it may be another than before, and trades name only the id."""
        if self._by_order.get((entry.broker, order_id)) != entry:
            self._by_order[(entry.broker, order_id)] = entry
            self._version += 1

    def begin_day(self, day: str) -> None:
        """Forget order ids of other days, which brokers use again, and tokens older than eight days."""
        if day == self._day:
            return
        self._day = day
        oldest = (date.fromisoformat(day) - timedelta(days=KEPT_DAYS)).isoformat()
        self._by_order = {key: entry for key, entry in self._by_order.items() if entry.session_day == day}
        self._by_token = {key: entry for key, entry in self._by_token.items() if entry.session_day >= oldest}
        self._unknown.clear()
        self._traded.clear()
        self._version += 1

    def _add(self, token: str, order_id: str | None, entry: LegEntry) -> None:
        known = self._by_token.get(token.lower()) == entry
        self._by_token[token.lower()] = entry
        if order_id is not None and entry.session_day >= self._day:
            known = known and self._by_order.get((entry.broker, order_id)) == entry
            self._by_order[(entry.broker, order_id)] = entry
        if not known:
            self._version += 1
