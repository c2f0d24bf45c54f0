"""The figures of a broker follow what its session publishes and counts."""

import attrs

from onebroker.actors.engine.context.engine_context import SessionHandle
from onebroker.actors.kernel.published import Published
from onebroker.actors.portfolio.read_status import BrokerRead
from onebroker.actors.sessions.session_view import FeedView, LoginState, SessionView
from onebroker.actors.sessions.slices import Slice
from onebroker.brokers.registry import build_registry
from onebroker.config.vocabulary import ReadStatus
from onebroker.http.metrics.broker_figures import PartTimes, broker_figures
from tests.http.metrics.shown import shown

BROKERS = build_registry()


def handle(code: str, **fields: object) -> SessionHandle:
    return SessionHandle(broker=BROKERS[code], address=None, view=Published(SessionView(broker=code, **fields)))


def test_of_a_session_that_begins_only_its_counts_are_known():
    shows = shown(broker_figures({"zerodha": handle("zerodha")}))
    kinds = {name.partition(" ")[0] for name in shows}
    assert kinds == {
        "broker_reads_total", "feed_up", "feed_reconnects_total", "feed_instruments", "feed_corrupt_frames_total", "ticks_total",
    }  # fmt: skip


def test_a_login_a_feed_and_reads_are_shown():
    feed = FeedView(connected=True, last_frame_at=1000.5, reconnects=2, corrupt_frames=1, subscribed=40)
    session = handle("dhan", login=LoginState.LIVE, market_feed=feed, order_feed=FeedView(corrupt_frames=2))
    session.counts.ticks = 7
    session.counts.good_reads["funds"] = 3
    session.counts.failed_reads["quotes"] = 1
    lost = handle("zerodha", login=LoginState.NEEDED)
    shows = shown(broker_figures({"dhan": session, "zerodha": lost}))
    assert [shows["broker_login_up dhan"], shows["broker_login_up zerodha"]] == [1, 0]
    assert [shows["feed_up dhan market"], shows["feed_up dhan orders"]] == [1, 0]
    assert shows["feed_last_frame_timestamp_seconds dhan market"] == 1000.5
    assert "feed_last_frame_timestamp_seconds dhan orders" not in shows
    assert "feed_up zerodha orders" not in shows, "zerodha's market feed carries the orders"
    assert shows["feed_corrupt_frames_total dhan"] == 3
    assert [shows["ticks_total dhan"], shows["feed_instruments dhan"], shows["feed_reconnects_total dhan market"]] == [
        7,
        40,
        2,
    ]
    assert [shows["broker_reads_total dhan funds ok"], shows["broker_reads_total dhan funds failed"]] == [3, 0]
    assert shows["broker_reads_total dhan quotes failed"] == 1


@attrs.frozen
class Document:
    reads: tuple[BrokerRead, ...]


def read(status: ReadStatus, at: float) -> BrokerRead:
    part = Slice(broker="dhan", resource="funds", rows=(), received_at=at)
    return BrokerRead(broker="dhan", status=status, slice=None if status is ReadStatus.MISSING else part)


async def test_a_part_that_cannot_be_read_keeps_the_time_of_its_last_good_read():
    document = Published(None)
    parts = PartTimes({"funds": document})
    assert shown(parts.collect()) == {}
    seen = []
    for now in (
        read(ReadStatus.OK, 10.0),
        read(ReadStatus.UNREADABLE, 20.0),
        read(ReadStatus.MISSING, 30.0),
        read(ReadStatus.STALE, 40.0),
    ):
        document.set(Document((now,)))
        seen.append(shown(parts.collect())["broker_part_timestamp_seconds dhan funds"])
    assert seen == [10.0, 10.0, 10.0, 40.0]
