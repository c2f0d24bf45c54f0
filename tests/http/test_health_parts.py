"""What `/api/health` shows of the engine, of a halt by hand, of candles and of the charges tables."""

from datetime import date, datetime, timedelta
from types import SimpleNamespace

from onebroker.actors.alerts.receiver import AlertsView, ReceiverView
from onebroker.actors.engine.context.messages import EngineStatus
from onebroker.actors.history.backfill_job import BackfillProgress
from onebroker.actors.history.candle_jobs import BrokerShare
from onebroker.actors.history.daily_loader import CollectorView, MarketView
from onebroker.actors.history.messages import LastLoad
from onebroker.actors.history.tick_archive import ArchiveState
from onebroker.actors.kernel.published import Published
from onebroker.actors.store.durable import Halt, HaltMode
from onebroker.actors.store.merge_result import Merged
from onebroker.config.calendars import calendar_from_documents
from onebroker.config.charges.load import built_in_charges
from onebroker.config.clock import IST
from onebroker.config.exchange_documents import exchange_documents
from onebroker.http.health_parts import (
    alerts_health,
    charges_health,
    engine_health,
    halt_health,
    history_health,
    market_health,
    part_health,
)

RUNNING = EngineStatus(running=True, reason="", trouble="no open order acts until …")
EVENING = datetime(2026, 11, 20, 16, 15, tzinfo=IST).timestamp()
CHECKED = built_in_charges().checked
OLD = CHECKED + timedelta(days=400)


# --- the engine -------------------------------------------------------------------------------------------------------


def test_it_runs_while_the_store_can_be_reached():
    assert engine_health(RUNNING, reachable=True) == {
        "running": True, "reason": "", "starting": False, "trouble": "no open order acts until …",
    }  # fmt: skip


def test_without_the_store_it_takes_no_orders_and_says_so_at_once():
    shown = engine_health(RUNNING, reachable=False)
    assert (shown["running"], shown["reason"]) == (False, "Redis could not be read: the store is away")


def test_one_that_does_not_run_keeps_its_own_reason():
    stopped = EngineStatus(running=False, reason="the order engine is starting")
    assert engine_health(stopped, reachable=False)["reason"] == "the order engine is starting"


# --- a halt by hand -----------------------------------------------------------------------------------------------------

HALT = Halt(mode=HaltMode.NOTHING, reason="the feed is wrong", since="2026-11-20T16:15:00.000+05:30")
NOT_HALTED = {"halted": False, "mode": None, "reason": None, "since": None}


async def test_until_the_stored_halt_is_read_health_says_neither_yes_nor_no():
    unread = Published(None)
    assert halt_health(unread) == NOT_HALTED | {"halted": None}


async def test_a_halt_is_shown_with_its_mode_its_reason_and_its_begin():
    halt = Published(None)
    halt.set(HALT)
    assert halt_health(halt) == {"halted": True, "mode": "nothing", "reason": HALT.reason, "since": HALT.since}
    halt.set(None)
    assert halt_health(halt) == NOT_HALTED


# --- candles ----------------------------------------------------------------------------------------------------------


def test_before_anything_was_loaded_there_is_nothing_to_show():
    assert history_health(None, CollectorView(), None, ArchiveState()) == {
        "last_load": None, "loading": None, "daily": {}, "backfill": None,
        "tick_archive": {"place": None, "waiting_days": None, "last_day": None, "written_at": None, "trouble": None},
    }  # fmt: skip


def test_loads_are_shown_by_market_with_what_failed_and_when_the_next_is_due():
    equity = MarketView(
        last_day=date(2026, 11, 19), loaded_at=EVENING - 86_400, instruments=40, failed=2, next_due=EVENING,
        trouble="zerodha has no login",
    )  # fmt: skip
    never = MarketView(last_day=None, loaded_at=None, instruments=0, failed=0, next_due=None, trouble=None)
    shown = history_health(
        LastLoad(kind="candles", at=EVENING, merged=Merged(added=3, equal=1)),
        CollectorView(markets={"nse equity": equity, "mcx commodity": never}, loading="nse equity"),
        BackfillProgress(instruments=9, done=4, brokers={"upstox": BrokerShare(instruments=4, rows=80)}),
        ArchiveState(
            place="/srv/ticks", waiting=1, last_day=date(2026, 11, 19), written_at=EVENING, trouble="it is full"
        ),
    )
    assert shown == {
        "last_load": {"kind": "candles", "at": "2026-11-20T16:15:00", "added": 3, "replaced": 0, "equal": 1},
        "loading": "nse equity",
        "daily": {
            "nse equity": {
                "last_day": "2026-11-19", "loaded_at": "2026-11-19T16:15:00", "instruments": 40, "failed": 2,
                "next_due": "2026-11-20T16:15:00", "trouble": "zerodha has no login",
            },
            "mcx commodity": {
                "last_day": None, "loaded_at": None, "instruments": 0, "failed": 0, "next_due": None, "trouble": None,
            },
        },
        "backfill": {
            "instruments": 9, "done": 4, "rows": 0, "refused": 0, "unread": 0,
            "brokers": {"upstox": {"instruments": 4, "rows": 80, "why": None}},
        },
        "tick_archive": {
            "place": "/srv/ticks", "waiting_days": 1, "last_day": "2026-11-19", "written_at": "2026-11-20T16:15:00", "trouble": "it is full",
        },
    }  # fmt: skip


# --- charges ----------------------------------------------------------------------------------------------------------


def test_health_tells_when_they_were_compared_and_what_is_wrong():
    assert charges_health(built_in_charges(), CHECKED) == {"checked": CHECKED.isoformat(), "problem": None}
    assert str(CHECKED) in str(charges_health(built_in_charges(), OLD)["problem"])


def test_the_market_shows_only_calendars_that_an_exchange_trades():
    calendar = calendar_from_documents(exchange_documents())
    market = market_health(calendar, datetime(2026, 11, 25, 11, 0, tzinfo=IST))
    assert market["nse equity"] == {"today": "trading", "open": True, "known_until": "2026-12-31"}
    assert [name for name in market if name.startswith("mcx")] == ["mcx commodity"]
    night = market_health(calendar, datetime(2026, 11, 25, 3, 0, tzinfo=IST))
    assert night["nse equity"]["open"] is False


def test_a_broker_shows_when_it_was_last_seen_in_each_document():
    reads = (SimpleNamespace(broker="dhan", as_of="2026-11-25T09:15:00"), SimpleNamespace(broker="groww", as_of=None))
    documents = {"funds": Published(SimpleNamespace(reads=reads)), "trades": Published(None)}
    assert part_health("dhan", documents) == {"funds": "2026-11-25T09:15:00"}
    assert part_health("groww", documents) == {"funds": None}
    assert part_health("upstox", documents) == {"funds": None}


def test_the_alerts_show_their_receivers_by_number_and_scheme():
    view = AlertsView(
        receivers=(
            ReceiverView(number=1, scheme="tgram", waiting=2, failed=3, failing_since=0.0, last_failure="error=502"),
        ),
        waiting=2,
    )
    shown = alerts_health(view)
    (receiver,) = shown["receivers"]
    assert (receiver["number"], receiver["scheme"], receiver["waiting"]) == (1, "tgram", 2)
    assert (receiver["failing_since"], receiver["last_failure"]) == ("1970-01-01T05:30:00", "error=502")
    assert receiver["last_failure_at"] is None
    assert shown["waiting"] == 2
    assert alerts_health(AlertsView())["receivers"] == []
