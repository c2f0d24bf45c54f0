"""What `/api/health` shows of candles."""

from datetime import date, datetime

from onebroker.actors.history.backfill import BackfillProgress
from onebroker.actors.history.daily_loader import CollectorView, MarketView
from onebroker.actors.history.gathered import BrokerShare
from onebroker.actors.history.messages import LastLoad
from onebroker.actors.store.merged import Merged
from onebroker.config.clock import IST
from onebroker.http.composition import history_health

EVENING = datetime(2026, 11, 20, 16, 15, tzinfo=IST).timestamp()


def test_before_anything_was_loaded_there_is_nothing_to_show():
    assert history_health(None, CollectorView(), None) == {
        "last_load": None, "loading": None, "daily": {}, "backfill": None,
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
    }  # fmt: skip
