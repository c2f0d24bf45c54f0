"""What events tell is counted for each broker, from zero on; what they do not tell has no sample."""

from datetime import datetime

import pytest

from onebroker.actors.kernel.events import Events
from onebroker.config import events as told
from onebroker.config.events import ALL
from onebroker.http.metrics.event_counts import EventCounts
from tests.http.metrics.shown import shown
from tests.support.event_page import example


@pytest.fixture
def counts():
    made = EventCounts()
    made.begin(("zerodha", "dhan"))
    return made


def test_before_the_first_event_what_is_counted_for_a_broker_is_zero(counts):
    before = shown(counts.collect())
    assert before["orders_total zerodha place accepted"] == 0
    assert before["fills_total dhan"] == before["feed_mute_total dhan"] == before["logins_total dhan needed"] == 0
    assert before["parent_states_total failed"] == before["clients_refused_total wrong access token"] == 0
    assert not [name for name in before if name.startswith(("order_seconds", "broker_login_expires"))]


def test_an_order_message_is_counted_with_its_three_times(counts):
    counts.hear(told.OrderSent(broker="dhan", verb="place", prepared_ms=2.5, queued_ms=40.0, triggered_ms=43.0))
    counts.hear(told.OrderAnswered(broker="dhan", verb="place", outcome="rejected", broker_ms=84))
    counts.hear(told.OrderSent(broker="dhan", verb="cancel"))
    after = shown(counts.collect())
    times = {name: value for name, value in after.items() if "_sum" in name}
    assert times == pytest.approx({
        "order_seconds_sum dhan place preparation": 0.0025, "order_seconds_sum dhan place queue": 0.04,
        "order_seconds_sum dhan place broker": 0.084, "trigger_to_wire_seconds_sum": 0.043,
    })  # fmt: skip
    assert {name for name, value in after.items() if name.startswith("orders_total") and value} == {
        "orders_total dhan place rejected"
    }


def test_fills_rejections_silences_and_full_budgets_are_counted(counts):
    for event in (example(kind) for kind in (told.OrderFilled, told.OrderRejected, told.FeedMute, told.BudgetFull)):
        counts.hear(event)
        counts.hear(event)
    after = shown(counts.collect())
    names = ("fills_total", "order_rejections_total", "feed_mute_total", "budget_full_total")
    assert [(after[f"{name} zerodha"], after[f"{name} dhan"]) for name in names] == [(2, 0)] * 4


def test_a_login_has_an_end_until_it_is_lost(counts):
    counts.hear(told.LoginDone(broker="dhan", until="2026-11-26T06:00:00+05:30"))
    until = datetime.fromisoformat("2026-11-26T06:00:00+05:30").timestamp()
    assert shown(counts.collect())["broker_login_expires_timestamp_seconds dhan"] == until
    counts.hear(told.LoginNeeded(broker="dhan", why="it has ended", by_person=True))
    counts.hear(told.LoginRefused(broker="dhan", words="Invalid TOTP"))
    after = shown(counts.collect())
    assert "broker_login_expires_timestamp_seconds dhan" not in after
    assert [after[f"logins_total dhan {outcome}"] for outcome in ("done", "needed", "refused")] == [1, 1, 1]
    counts.hear(told.LoginDone(broker="dhan", until=None))
    assert "broker_login_expires_timestamp_seconds dhan" not in shown(counts.collect())


def test_refused_clients_count_as_many_as_the_event_tells(counts):
    counts.hear(told.ClientRefused(why="wrong access token", address="192.0.2.7", count=12))
    assert shown(counts.collect())["clients_refused_total wrong access token"] == 12


def test_every_kind_of_event_is_taken(counts):
    for kind in ALL:
        counts.hear(example(kind))


def test_a_fault_of_the_counting_does_not_reach_the_teller(counts, caplog):
    heard = []
    counts.begin(())
    counts._orders = None
    Events(counts.hear, heard.append).tell(example(told.OrderAnswered))
    assert (len(heard), caplog.messages) == (1, ["a listener failed with order.answered"])
