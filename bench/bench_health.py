"""What a look over all problems costs: ten brokers, 500 open parents with three orders each, nothing wrong and much wrong.

It prints microseconds of processor time a look, the median of many looks.
"""

import json
import statistics
import time
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import attrs
import trio

from onebroker.actors.catalogue.interface import CatalogueState
from onebroker.actors.engine.context.day_loss import DayLoss
from onebroker.actors.engine.context.messages import EngineStatus
from onebroker.actors.engine.context.trading_gate import TradingGate
from onebroker.actors.engine.context.troubles import Found, Troubles
from onebroker.actors.engine.orders.parent_records import LegRecord, LegState
from onebroker.actors.health.problem_book import ProblemBook
from onebroker.actors.health.sources import Watched, problem_sources
from onebroker.actors.history.daily_loader import CollectorView
from onebroker.actors.history.disk_room import Room
from onebroker.actors.history.tick_archive import ArchiveState
from onebroker.actors.kernel.events import Events
from onebroker.actors.kernel.published import Published
from onebroker.actors.kernel.supervisor import CrashLog
from onebroker.actors.portfolio.read_status import BrokerRead
from onebroker.actors.quotes.feed_silence import FeedSilence
from onebroker.actors.sessions.session_view import FeedView, LoginState, SessionView
from onebroker.actors.sessions.slices import Slice
from onebroker.actors.store.keys import RESOURCES
from onebroker.brokers.registry import build_registry
from onebroker.config.calendars import calendar_from_documents
from onebroker.config.charges.load import built_in_charges
from onebroker.config.clock import Clock
from onebroker.config.exchange_documents import exchange_documents
from onebroker.config.vocabulary import ReadStatus

PARENTS, LEGS, LOOKS = 500, 3, 400


def leg(number: int, *, state: LegState, now: float) -> LegRecord:
    return LegRecord(
        leg_id=f"p{number}", part="entry", token=f"t{number}", broker="zerodha", segment="equities", instrument_token="1",
        tradingsymbol="INFY", transaction_type="BUY", product="CNC", order_type="LIMIT", validity="DAY", quantity=5,
        price=Decimal(10), trigger_price=None, session_day="2026-11-25", state=state, sent_at=now - 600,
    )  # fmt: skip


def watched(*, wrong: bool) -> Watched:
    registry, clock = build_registry(), Clock()
    now = clock.epoch()
    down = FeedView(down_since=now - 60, trouble="refused") if wrong else FeedView(connected=True, last_frame_at=now)
    failing = dict.fromkeys(RESOURCES, "the broker answered 500") if wrong else {}
    view = SessionView(
        broker="", login=LoginState.LIVE, login_since=now - 600, market_feed=down, order_feed=down, read_errors=failing,
        reads_failing_since=dict.fromkeys(failing, now - 60), clock_ahead=0.0,
    )  # fmt: skip
    sessions: dict[str, Any] = {
        code: SimpleNamespace(broker=broker, view=Published(attrs.evolve(view, broker=code)))
        for code, broker in registry.items()
    }
    reads = tuple(
        BrokerRead(
            broker=code,
            status=ReadStatus.OK,
            slice=Slice(broker=code, resource="funds", rows=(), received_at=now + 3600),
        )
        for code in registry
    )
    state: Any = SimpleNamespace(reads=reads, as_of="", as_of_epoch=now + 3600)
    troubles = Troubles(Events())
    if wrong:
        for number in range(PARENTS):
            troubles.note(f"p{number}", [Found("i", "5 units are open without a stop", 5)], now, is_ended=False)
    legs: Any = SimpleNamespace(
        unfinished=[
            leg(number, state=LegState.UNKNOWN if wrong and number % 30 == 0 else LegState.OPEN, now=now)
            for number in range(PARENTS * LEGS)
        ],
        strangers={},
    )
    return Watched(
        clock=clock, calendar=calendar_from_documents(exchange_documents()),
        states=lambda: dict.fromkeys([f"actor {number}" for number in range(40)], True), crashes=CrashLog(clock),
        reachable=lambda: True, sessions=sessions, silence=Published(FeedSilence()),
        documents=dict.fromkeys(RESOURCES, Published(state)), legs=legs, troubles=troubles, gate=TradingGate(),
        doubted=lambda: (),
        loss=Published(DayLoss()), engine=Published(EngineStatus(running=True, reason="")),
        catalogue=Published(CatalogueState(latest=None, published_today=True, reason="")),
        collected=Published(CollectorView()), room=Published(Room(reserve=0)), archive=Published(ArchiveState()),
        dropped_ticks=lambda: 0, charges=built_in_charges(),
    )  # fmt: skip


async def main() -> None:
    figures = {}
    for name, wrong in (("nothing wrong", False), ("much wrong", True)):
        house = watched(wrong=wrong)
        book = ProblemBook(tuple(problem_sources(house)), house.clock, Events())
        taken, problems = [], 0
        for _ in range(LOOKS):
            began = time.thread_time_ns()
            problems = len(book.look())
            taken.append((time.thread_time_ns() - began) / 1000)
        figures[name] = {"problems": problems, "median_us": round(statistics.median(taken))}
        print(f"{name}: {problems} problems, {statistics.median(taken):.0f} us a look (p99 {sorted(taken)[-4]:.0f} us)")
    print(json.dumps(figures))


if __name__ == "__main__":
    trio.run(main)
