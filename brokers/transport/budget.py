"""A broker's rate budget: how many messages may still be sent (architecture 5; order-engine 4.5, 4.6).

We count a message when it is sent. The broker counts it when it arrives, at any time up to its answer. So a message
without an answer counts as if it arrived `flight_seconds` after it left; an answered message counts at the time of its
answer. Two messages sent a second apart thus never arrive in the same second of the broker.

*Any* window of its length holds at most the limit. Send times are stored exactly, for as long as the longest window; that
window's own limit bounds their number. Order messages count against the order windows and the call windows. Every other
call counts against the call windows only; files do not count. Each window keeps its last share for exits; `call_shares.py`
says how the rest of the call windows is divided. A call whose kind has windows of its own (quotes, history) also counts
against these; they keep nothing for exits.

`Budget` is pure: the caller passes the time. `budget_gate.py` is the queue in front of it.
"""

import math
from collections import Counter
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from types import MappingProxyType

import attrs

from onebroker.brokers.broker import Windows
from onebroker.brokers.requests import CallKind
from onebroker.brokers.transport.call_shares import KEPT_FOR_ALL_OTHERS, CallShares
from onebroker.brokers.transport.priorities import Priority, of_reserve
from onebroker.brokers.transport.rolling_windows import MARGIN_SECONDS, Ledger, kept_for_exits
from onebroker.config.clock import Clock, latest_boundary

KEPT_MINUTES = 61
"""Counts per minute cover the longest window and the current minute."""


class BudgetFull(Exception):
    """There was no room before the deadline, or too many messages were already waiting."""


class DailyCapReached(BudgetFull):
    """The daily cap of order messages has no room for this priority (order-engine 4.6); waiting does not help."""

    def __init__(self, sent: int, cap: int, reserve: int) -> None:
        super().__init__(f"{sent} of {cap} order messages sent today")
        self.sent = sent
        self.cap = cap
        self.reserve = reserve


@attrs.frozen(kw_only=True)
class Moment:
    """One instant on both clocks."""

    monotonic: float
    """Seconds; rolling windows are measured on this clock."""
    wall: datetime
    """Aware; the day changes on this clock, at 07:00 IST."""

    @classmethod
    def of(cls, clock: Clock) -> "Moment":
        """Return the present instant."""
        return cls(monotonic=clock.monotonic(), wall=clock.now())


@attrs.frozen(kw_only=True)
class Place:
    """One counted message; returned with `give_back` when its connection never opened."""

    kind: CallKind
    at: Moment
    counted_at: float
    """Monotonic seconds; the message's time in the rolling windows until it is answered."""


@attrs.frozen(kw_only=True)
class MinuteCount:
    """How many messages were sent in one minute of wall time."""

    minute: int
    """Epoch seconds // 60."""
    kinds: Mapping[CallKind, int]
    """Messages by kind."""

    @property
    def orders(self) -> int:
        return self.kinds.get(CallKind.ORDER, 0)

    @property
    def calls(self) -> int:
        """All messages, order messages included."""
        return sum(self.kinds.values())


@attrs.frozen(kw_only=True)
class BudgetCounts:
    """The stored counts; they survive a restart."""

    dumped_at: float
    """Epoch seconds."""
    minutes: tuple[MinuteCount, ...]
    """The last hour, oldest first."""
    day: str
    """`YYYY-MM-DD`, the India date of the 07:00 at which the day began."""
    day_orders: int
    day_calls: int


@attrs.frozen(kw_only=True)
class BudgetRoom:
    """What other modules see: the messages that could be sent at once, and the day's count of order messages."""

    entry_room: int | None
    """Order messages possible without the reserve; None = no limit."""
    exit_room: int | None
    """Order messages possible with the reserve; None = no limit."""
    order_windows: Mapping[str, int]
    """Window name -> order messages left in it, including the reserve."""
    call_windows: Mapping[str, int]
    """The same for all calls; includes `day` where the calls of a day are capped."""
    closed_seconds: float
    """Seconds for which the broker's own refusal still closes the budget."""
    order_messages_today: int
    daily_cap: int | None
    exit_reserve: int
    free_share: float = 1.0
    """The smallest share, 0 to 1, left in any window that an order message counts in, or in the daily cap."""


class Budget:
    """The rate budget of one broker."""

    def __init__(
        self,
        order_windows: Windows,
        call_windows: Windows,
        *,
        kind_windows: Mapping[CallKind, Windows] = MappingProxyType({}),
        exit_share: float = 0.2,
        exit_reserve: int | None = None,
        flight_seconds: float = 0.0,
    ) -> None:
        """`order_windows.day` is the daily cap of order messages; no message waits for it. `call_windows.day` is a window
        from 07:00 IST. `exit_reserve` is a part of the daily cap; None = a tenth of the cap, at least 1. `flight_seconds`
        is how long a message without an answer is assumed to be on its way.

        Raises ValueError when a kind has a `day` window, because such windows are not counted.
        """
        if any(windows.day is not None for windows in kind_windows.values()):
            raise ValueError("a kind of call has no window of a day")
        self._orders = Ledger(order_windows, exit_share)
        self._calls = CallShares(call_windows, exit_share)
        self._kinds = {kind: Ledger(windows, exit_share) for kind, windows in kind_windows.items()}
        self._exit_share = exit_share
        self._flight_seconds = flight_seconds
        self._call_cap = call_windows.day
        self.daily_cap = order_windows.day
        self.exit_reserve = max(1, (self.daily_cap or 0) // 10) if exit_reserve is None else exit_reserve
        self._closed_until = -math.inf
        self._minutes: dict[int, Counter[CallKind]] = {}  # epoch minute -> calls
        self._day: date | None = None
        self._day_orders = 0
        self._day_calls = 0

    def room(self, kind: CallKind, priority: Priority, now: Moment) -> bool:
        """Whether a message may leave now. For the daily cap of order messages use `daily_room`."""
        return self.wait_seconds(kind, priority, now) <= 0

    def wait_seconds(self, kind: CallKind, priority: Priority, now: Moment) -> float:
        """Return the shortest wait until there is room, by the present counts; 0 = now, infinity = never."""
        if kind is CallKind.FILE:
            return 0.0
        share = of_reserve(priority)
        waits = [self._calls.wait_seconds(kind, priority, now.monotonic)]
        if kind in self._kinds:
            waits.append(self._kinds[kind].wait_seconds(now.monotonic, of_reserve=1.0))
        if self._closed_until > now.monotonic:
            waits.append(self._closed_until - now.monotonic + MARGIN_SECONDS)
        if kind is CallKind.ORDER:
            waits.append(self._orders.wait_seconds(now.monotonic, of_reserve=share))
        left_to_others = KEPT_FOR_ALL_OTHERS if priority is Priority.BULK else 0.0
        if self._call_cap is not None and self._day_call_room(self._call_cap, now, share, left_to_others) <= 0:
            waits.append((latest_boundary(now.wall) + timedelta(days=1) - now.wall).total_seconds() + MARGIN_SECONDS)
        return max(0.0, *waits)

    def take(self, kind: CallKind, priority: Priority, now: Moment) -> Place:
        """Count a message that leaves now; call this right before sending.

        Raises `DailyCapReached` when the day has no room for it, `BudgetFull` when the windows have no room now.
        """
        if kind is CallKind.ORDER and self.daily_cap is not None and self.daily_room(priority, now) == 0:
            raise DailyCapReached(self._day_orders, self.daily_cap, self.exit_reserve)
        if not self.room(kind, priority, now):
            raise BudgetFull
        place = Place(kind=kind, at=now, counted_at=now.monotonic + self._flight_seconds)
        self._count(place, 1)
        return place

    def give_back(self, place: Place) -> None:
        """Uncount a message whose connection never opened (`NotSent`)."""
        self._count(place, -1)

    def landed(self, place: Place, now: Moment) -> None:
        """Count a message at the time of its answer: it cannot arrive later than now."""
        if place.kind is not CallKind.FILE and now.monotonic < place.counted_at:
            for ledger in self._ledgers(place.kind):
                ledger.move(place.counted_at, now.monotonic)

    def close_for(self, seconds: float, now: Moment) -> None:
        """Send nothing for `seconds`: the broker itself said "too many requests"."""
        self._closed_until = max(self._closed_until, now.monotonic + seconds)

    def scarce(self, now: Moment) -> bool:
        """Whether a window of all calls is so full that reads must be spaced out, so that their share of it lasts."""
        return self._calls.scarce(now.monotonic)

    def order_messages_today(self, now: Moment) -> int:
        """Return the order messages counted since 07:00 IST."""
        self._turn_day(now)
        return self._day_orders

    def daily_room(self, priority: Priority, now: Moment) -> int | None:
        """Return how many order messages of this priority the daily cap still allows; None = any number.

        Cancels are never refused because of the cap. Exits may use the whole cap; moves of stops may use half the
        reserve; all others none of the reserve.
        """
        if self.daily_cap is None or priority is Priority.CANCEL:
            return None
        kept = _left_of(self.exit_reserve, of_reserve(priority))
        return max(0, self.daily_cap - kept - self.order_messages_today(now))

    def published(self, now: Moment) -> BudgetRoom:
        """Return the room left, for the choice of a broker and for health."""
        closed_seconds = max(0.0, self._closed_until - now.monotonic)
        orders = self._orders.room(now.monotonic, of_reserve=1.0)
        calls = self._with_day(self._calls.left(now.monotonic), now, of_reserve=1.0)
        return BudgetRoom(
            entry_room=0 if closed_seconds else self._least_room(now, Priority.ENTRY),
            exit_room=0 if closed_seconds else self._least_room(now, Priority.EXIT),
            order_windows=orders,
            call_windows=calls,
            closed_seconds=closed_seconds,
            order_messages_today=self.order_messages_today(now),
            daily_cap=self.daily_cap,
            exit_reserve=self.exit_reserve,
            free_share=0.0 if closed_seconds else self._free_share(orders, calls),
        )

    def dump(self, now: Moment) -> BudgetCounts:
        """Return the counts of the last hour by minute, and the counts of the day."""
        self._turn_day(now)
        minute = _minute(now)
        return BudgetCounts(
            dumped_at=now.wall.timestamp(),
            minutes=tuple(
                MinuteCount(minute=key, kinds=dict(calls))
                for key, calls in sorted(self._minutes.items())
                if key > minute - KEPT_MINUTES
            ),
            day=_day(now).isoformat(),
            day_orders=self._day_orders,
            day_calls=self._day_calls,
        )

    def load(self, counts: BudgetCounts, now: Moment) -> None:
        """Add the counts from before a restart. Each minute's messages count at the end of that minute, or at the dump
        when that was earlier. That is later than they were sent, so the restart never allows more messages."""
        self._turn_day(now)
        if counts.day == _day(now).isoformat():
            self._day_orders += counts.day_orders
            self._day_calls += counts.day_calls
        now_epoch = now.wall.timestamp()
        for row in counts.minutes:
            stands_at = min((row.minute + 1) * 60.0, counts.dumped_at + MARGIN_SECONDS, now_epoch)
            at = min(now.monotonic, now.monotonic - (now_epoch - stands_at) + MARGIN_SECONDS)
            self._orders.add(at, row.orders)
            for kind, calls in row.kinds.items():
                for ledger in self._calls.ledgers(kind):
                    ledger.add(at, calls)
                if kind in self._kinds:
                    self._kinds[kind].add(at, calls)
            self._minutes.setdefault(row.minute, Counter()).update(row.kinds)

    def _count(self, place: Place, change: int) -> None:
        """Count a message (`change` 1) or uncount it (-1) everywhere it counts."""
        if place.kind is CallKind.FILE:
            return
        self._turn_day(place.at)
        is_order = place.kind is CallKind.ORDER
        for ledger in self._ledgers(place.kind):
            if change > 0:
                ledger.add(place.counted_at)
            else:
                ledger.remove(place.counted_at)
        if self._day == _day(place.at):
            self._day_calls = max(0, self._day_calls + change)
            self._day_orders = max(0, self._day_orders + (change if is_order else 0))
        self._count_minute(_minute(place.at), place.kind, change)

    def _ledgers(self, kind: CallKind) -> list[Ledger]:
        """Return all ledgers that a call of this kind counts against."""
        orders = [self._orders] if kind is CallKind.ORDER else []
        own = [self._kinds[kind]] if kind in self._kinds else []
        return [*self._calls.ledgers(kind), *orders, *own]

    def _count_minute(self, minute: int, kind: CallKind, change: int) -> None:
        held = self._minutes.setdefault(minute, Counter())
        held[kind] = max(0, held[kind] + change)
        if len(self._minutes) > 2 * KEPT_MINUTES:
            newest = max(self._minutes)
            self._minutes = {key: row for key, row in self._minutes.items() if key > newest - KEPT_MINUTES}

    def _turn_day(self, now: Moment) -> None:
        day = _day(now)
        if self._day is None or day > self._day:
            self._day, self._day_orders, self._day_calls = day, 0, 0

    def _day_call_room(self, cap: int, now: Moment, of_reserve: float, left_to_others: float = 0.0) -> int:
        self._turn_day(now)
        kept = _left_of(kept_for_exits(cap, self._exit_share), of_reserve)
        return cap - kept - math.ceil(cap * left_to_others) - self._day_calls

    def _with_day(self, room: dict[str, int], now: Moment, *, of_reserve: float) -> dict[str, int]:
        if self._call_cap is not None:
            room["day"] = max(0, self._day_call_room(self._call_cap, now, of_reserve))
        return room

    def _free_share(self, orders: Mapping[str, int], calls: Mapping[str, int]) -> float:
        """Return the smallest share left in anything that an order message counts in."""
        shares = [left / self._orders.limits[name] for name, left in orders.items()]
        shares += [left / (self._calls.limits.get(name) or self._call_cap or 1) for name, left in calls.items()]
        if self.daily_cap is not None:
            shares.append(max(0, self.daily_cap - self._day_orders) / max(1, self.daily_cap))
        return min(shares, default=1.0)

    def _least_room(self, now: Moment, priority: Priority) -> int | None:
        share = of_reserve(priority)
        orders = self._orders.room(now.monotonic, of_reserve=share)
        calls = self._with_day(self._calls.room(CallKind.ORDER, priority, now.monotonic), now, of_reserve=share)
        return min([*orders.values(), *calls.values()], default=None)


def _left_of(kept: int, of_reserve: float) -> int:
    """Return how much of a reserve is out of reach for a message that may use the share `of_reserve`."""
    return kept - math.floor(kept * of_reserve)


def _day(now: Moment) -> date:
    return latest_boundary(now.wall).date()


def _minute(now: Moment) -> int:
    return math.floor(now.wall.timestamp() / 60)
