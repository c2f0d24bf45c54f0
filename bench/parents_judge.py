"""The service's notes of a `bench_parents` run, and whether each parent did what the replay of its ticks requires."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import attrs
import msgspec

from bench.parents_mix import Parent
from bench.parents_replay import Fires, Follows, Judged, Quoted, Touch

SETTLE_SECONDS = 12.0
"""Stops move once a second, and an order may wait for room in a rate limit."""
LAG_SECONDS = 6.0
"""How many seconds an ended resting order may have been behind the replay."""


@attrs.define
class Notes:
    quotes: list[Quoted]
    ticks: list[float]
    """The moment each tick was received."""
    sent: list[tuple[float, str]]
    """(when, request)."""
    overwritten: list[tuple[float, str, Decimal]]
    """(when, instrument, price) of ticks that were never folded in."""
    clock_ahead: float
    """The service's epoch seconds less its monotonic seconds."""

    @classmethod
    def read(cls, file: Path) -> "Notes":
        notes = cls([], [], [], [], 0.0)
        waiting: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
        instruments: dict[tuple[str, str], str] = {}
        lost: list[tuple[float, tuple[str, str], float]] = []
        for line in file.open("rb"):
            match msgspec.json.decode(line):
                case ["received", at, epoch, broker, token, last]:
                    notes.ticks.append(at)
                    waiting.setdefault((broker, token), []).append((at, epoch, last))
                    notes.clock_ahead = epoch - at
                case ["quoted", at, epoch, instrument_id, broker, token, last, bid, offer]:
                    key = broker, token
                    ticks = [tick for tick in waiting[key] if tick[1] <= epoch]
                    waiting[key] = waiting[key][len(ticks) :]  # a newer tick may have come while this one was taken
                    lost += [(earlier, key, price) for earlier, _, price in ticks[:-1]]
                    instruments[key] = instrument_id
                    prices = [None if price is None else Decimal(repr(price)) for price in (last, bid, offer)]
                    assert prices[0] is not None
                    notes.quotes.append(Quoted(at, epoch, instrument_id, prices[0], *prices[1:], ticks[-1][0], broker))
                case ["sent", at, request]:
                    notes.sent.append((at, request))
        notes.overwritten = [
            (at, instruments[key], Decimal(repr(price))) for at, key, price in lost if key in instruments
        ]
        return notes

    def ticks_a_second(self, first: float, last: float) -> float:
        return sum(first <= at <= last for at in self.ticks) / (last - first)


def sent_at(notes: Notes, messages: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], float]:
    """Return (broker, order id) -> when the bytes of its place message left. The engine's own tag in the bytes identifies the message."""
    found = {}
    for message in messages:
        if message["verb"] == "place" and message["order_id"] and message["tag"]:
            at = next((at for at, request in notes.sent if message["tag"] in request), None)
            if at is not None:
                found[message["broker"], message["order_id"]] = at
    return found


# Judging


@attrs.define
class Tally:
    parents: int = 0
    due: int = 0
    fired: int = 0
    missed: int = 0
    false: int = 0
    gave_up: int = 0
    """The parent was due and sent nothing, and its record says why."""
    late: int = 0
    """The order ended at a value that was right earlier; its last moves waited for room."""
    uncertain: int = 0


@attrs.define
class Judge:
    notes: Notes
    sent: Mapping[tuple[str, str], float]
    orders: Mapping[tuple[str, str], Mapping[str, Any]]
    ended_at: float
    moved: Mapping[tuple[str, Decimal], Sequence[float]]
    """(instrument, price) -> when this process asked for the price."""
    tallies: dict[str, Tally] = attrs.field(factory=dict)
    latencies: list[float] = attrs.field(factory=list)
    from_moves: list[float] = attrs.field(factory=list)
    """Seconds from the moment this process asks for a price to the bytes of the order."""
    wrong: list[str] = attrs.field(factory=list)

    def take(self, parent: Parent, record: Mapping[str, Any]) -> None:
        tally = self.tallies.setdefault(parent.kind, Tally())
        tally.parents += 1
        rule = parent.judged.rule
        if isinstance(rule, Fires):
            self._fires(parent, rule, record, tally)
        elif isinstance(rule, Follows):
            self._follows(parent, rule, record, tally)

    def _legs(self, record: Mapping[str, Any], part: str | None) -> list[Mapping[str, Any]]:
        """Legs whose order is on the ledger, in the order of sending."""
        legs = [
            leg
            for leg in record["legs"]
            if part in (None, leg["part"]) and (leg["broker"], leg["order_id"]) in self.orders
        ]
        return sorted(legs, key=lambda leg: leg["sent_at"] or 0)

    def _fires(self, parent: Parent, rule: Fires, record: Mapping[str, Any], tally: Tally) -> None:
        legs = self._legs(record, rule.part)
        at = min(
            (self.sent[key] for leg in legs if (key := (leg["broker"], leg["order_id"])) in self.sent), default=None
        )
        due = rule.due
        if rule.uncertain or (due is not None and self.ended_at - due.at < SETTLE_SECONDS / 2):
            tally.uncertain += 1
            return
        tally.due += due is not None
        tally.fired += bool(legs)
        if due is not None and not legs:
            gave_up = record["state"] in ("failed", "rejected") and bool(record["status_message"])
            tally.gave_up += gave_up
            tally.missed += not gave_up
            self._say("gave up" if gave_up else "missed", parent, record, due)
        elif legs and (due is None or (at is not None and at < rule.earliest)):
            tally.false += 1
            self._say("false", parent, record, due)
        elif due is not None and at is not None and rule.immediate:
            self.latencies.append(at - due.received_at)
            moves = self.moved.get((due.instrument_id, due.last_price), [])
            moved_at = max((moved for moved in moves if moved <= due.received_at), default=None)
            if moved_at is not None:
                self.from_moves.append(at - moved_at)

    def _follows(self, parent: Parent, rule: Follows, record: Mapping[str, Any], tally: Tally) -> None:
        """Judge a resting order, which had to move when its wanted value changed. It must be at its right value, or have ended at a value that was
        right shortly before."""
        legs = self._legs(record, rule.part)
        due = len(rule.wanted) > 1
        tally.due += due
        if not legs or not rule.wanted:
            tally.missed += 1
            self._say("missed", parent, record, None)
            return
        first, order = (self.orders[leg["broker"], leg["order_id"]] for leg in (legs[0], legs[-1]))
        is_open = order["status"] in ("open", "trigger_pending")
        until = self.ended_at if is_open else self._moment(order["updated_at"])
        may_be = rule.within(self.ended_at if is_open else until - LAG_SECONDS, until + 1)
        now = Decimal(str(order[rule.field]))
        moved = first["modifications"] > 0 or len(legs) > 1
        tally.fired += due and moved
        if now in may_be:
            return
        if not is_open and now in rule.within(0.0, until + 1):
            tally.late += 1
            return
        behind = now in rule.within(0.0, self.ended_at)
        tally.missed += behind
        tally.false += not behind
        words = f"{'missed' if behind else 'false'}: at {now}, wanted {sorted(may_be)}"
        self._say(words, parent, {**record, "order": order}, None)

    def _moment(self, stamp: str | float) -> float:
        epoch = datetime.fromisoformat(stamp).timestamp() if isinstance(stamp, str) else stamp
        return epoch - self.notes.clock_ahead

    def _say(self, verdict: str, parent: Parent, record: Mapping[str, Any], due: Quoted | None) -> None:
        self.wrong.append(
            f"{verdict}: {parent.kind} {parent.body} armed {parent.judged.armed_at:.3f} due {due} "
            f"state {record['state']} {record['status_message']} legs {record['legs']} {record.get('order', '')}"
        )


def untold(judged: Judged, notes: Notes) -> bool:
    """Whether only overwritten ticks touched a level."""
    rule = judged.rule
    if not isinstance(rule, Fires) or rule.due is not None or not isinstance(touch := rule.stages[0], Touch):
        return False
    return touch.field == "last_price" and any(
        instrument_id == touch.instrument_id
        and at >= judged.armed_at
        and (price >= touch.level if touch.above else price <= touch.level)
        for at, instrument_id, price in notes.overwritten
    )
