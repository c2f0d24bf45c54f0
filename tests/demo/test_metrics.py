"""The metrics of the whole service: each fault of a broker moves its metric within ten seconds."""

import pytest

from tests.support.scraped import scraped

pytestmark = pytest.mark.long

MOVED_SECONDS = 10.0


@pytest.fixture(autouse=True)
def _healed(demo):
    """Every test leaves the brokers as it found them."""
    yield
    demo.heal()
    demo.until_ready()


def value(demo, name, **labels):
    """Return the value of a sample, None without one."""
    return scraped(demo).get((name, frozenset(labels.items())))


def moves(demo, before, name, **labels):
    """Wait until a sample is above what it was."""
    demo.until(
        lambda: (value(demo, name, **labels) or 0) > before, f"{name} {labels} to rise above {before}", MOVED_SECONDS
    )


@pytest.mark.parametrize("kind", ["http_500", "garbage_body", "refuse_connections"])
def test_failed_reads_are_counted(demo, kind):
    labels = {"broker": "zerodha", "resource": "positions", "outcome": "failed"}
    before = value(demo, "onebroker_broker_reads_total", **labels)
    demo.fault("zerodha", kind)
    moves(demo, before, "onebroker_broker_reads_total", **labels)


@pytest.mark.parametrize(("kind", "outcome"), [("drop_after_accept", "unknown"), ("reject_orders", "rejected")])
def test_orders_are_counted_by_their_outcome(demo, kind, outcome):
    labels = {"broker": "zerodha", "verb": "place", "outcome": outcome}
    before = value(demo, "onebroker_orders_total", **labels)
    demo.fault("zerodha", kind, count=1)
    demo.place(**demo.limit_buy(demo.share(), -3, broker="zerodha"))
    moves(demo, before, "onebroker_orders_total", **labels)


def test_an_order_of_unknown_outcome_is_shown_until_it_is_found(demo):
    demo.fault("zerodha", "drop_after_accept", count=1)
    demo.fault("zerodha", "late_book", delay_seconds=8, seconds=8)
    answer = demo.place(**demo.limit_buy(demo.share(1), -3, broker="zerodha"))
    assert (answer.status, answer.json["outcome"]) == (504, "unknown"), answer
    moves(demo, 0, "onebroker_unknown_orders", broker="zerodha")
    demo.until(lambda: value(demo, "onebroker_unknown_orders", broker="zerodha") == 0, "the order to be found")


def test_a_slow_broker_shows_in_its_time(demo):
    labels = {"broker": "upstox", "verb": "place", "part": "broker"}
    before = value(demo, "onebroker_order_seconds_sum", **labels) or 0
    demo.fault("upstox", "latency", delay_seconds=2, seconds=5)
    demo.place(**demo.limit_buy(demo.share(2), -3, broker="upstox"))
    moves(demo, before + 1, "onebroker_order_seconds_sum", **labels)


def test_a_dropped_stream_is_connected_again_and_corrupt_frames_are_counted(demo):
    labels = {"broker": "zerodha", "feed": "market"}
    before = value(demo, "onebroker_feed_reconnects_total", **labels)
    demo.fault("zerodha", "drop_stream", count=1)
    moves(demo, before, "onebroker_feed_reconnects_total", **labels)
    corrupt = value(demo, "onebroker_feed_corrupt_frames_total", broker="zerodha")
    demo.fault("zerodha", "corrupt_frame", count=3)
    moves(demo, corrupt, "onebroker_feed_corrupt_frames_total", broker="zerodha")


def test_an_expired_login_is_proved_again(demo):
    before = value(demo, "onebroker_broker_reads_total", broker="upstox", resource="profile", outcome="ok")
    demo.fault("upstox", "expire_session")
    moves(demo, before, "onebroker_broker_reads_total", broker="upstox", resource="profile", outcome="ok")


def test_a_halt_shows_and_goes(demo):
    assert demo.ask("POST", "/api/orders/halt", {"confirm": "HALT", "reason": "a test"}).status == 200
    demo.until(lambda: value(demo, "onebroker_halted", mode="reduce_only") == 1, "the halt to show", MOVED_SECONDS)
    assert demo.ask("DELETE", "/api/orders/halt").status == 200
    demo.until(lambda: value(demo, "onebroker_halted", mode="reduce_only") == 0, "the halt to go", MOVED_SECONDS)
