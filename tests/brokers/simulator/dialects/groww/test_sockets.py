"""Groww's server over the real exchange: its sockets."""

from collections import Counter

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onebroker.brokers.events import (
    CorruptFrame,
    Heartbeat,
    Ready,
    Reply,
    SessionDead,
    StreamRefused,
    Ticks,
)
from onebroker.brokers.groww import feed
from onebroker.brokers.simulator.dialects.groww.naming import name_of
from tests.brokers.simulator.dialects.groww.client import Line, shared, token


def test_the_stream_lets_in_who_signs_and_sends_price_day_and_book_of_what_is_subscribed(groww):
    share, future, index = (groww.listed(bare) for bare in ("equities", "equity_index_futures", "equity_indices"))
    commodity = groww.listed("commodity_futures", "mcx")
    line = groww.open()
    assert [type(each) for each in line.events()] == [Reply, Reply, Ready]
    names = (share, future, index, commodity)
    line.send(feed.subscribe_messages(groww.access, [groww.listing(name) for name in names]))
    line.session.markets_moved(frozenset(name.contract.instrument_id for name in names))
    newest = {tick.broker_token: tick for event in line.events() for tick in event.ticks}
    assert set(newest) == {token(share), token(future), token(index)}  # MCX has no subjects
    for name in (share, future):
        tick, market = newest[token(name)], groww.account.market(name.contract.instrument_id)
        assert (tick.last_price, tick.open, tick.volume) == (
            float(market.last_price),
            float(market.open),
            market.volume or None,
        )
        assert [(level.price, level.quantity) for level in tick.buy] == [
            (float(level.price), level.quantity) for level in market.buy
        ]
        assert tick.exchange_time == pytest.approx(market.exchange_time)
        assert tick.oi == (None if name is share else market.oi)
    line.send(feed.unsubscribe_messages(groww.access, [groww.listing(share)]))
    line.session.markets_moved(frozenset({share.contract.instrument_id}))
    assert line.events() == []


def test_frames_cut_anywhere_say_the_same(groww):
    name = groww.listed("equities")
    line = groww.open()
    line.events()
    line.send(feed.subscribe_messages(groww.access, [groww.listing(name)]))
    line.session.markets_moved(frozenset({name.contract.instrument_id}))
    flow = b"".join(line.wire.frames)
    whole, cut = (feed.StreamDecoder(line.decoder._handed) for _ in range(2))
    pieces = [event for n in range(len(flow)) for event in cut.receive(flow[n : n + 1])]
    together = whole.receive(flow)
    ticks = [tick for event in pieces if isinstance(event, Ticks) for tick in event.ticks]
    assert ticks == list(together[0].ticks)
    assert Counter(map(type, pieces)) == Counter(map(type, together)) + Counter({Ticks: len(ticks) - 1})


def test_the_server_pings_and_cuts_off_who_does_not_answer(groww):
    line = groww.open()
    line.events()
    for _ in range(120):
        line.session.beat()
    assert line.events() == [Reply(b"PONG\r\n"), Heartbeat()]
    for _ in range(360):
        line.session.beat()
    assert line.wire.closed is not None
    assert StreamRefused("Stale Connection") in line.events()


@pytest.mark.parametrize(
    "spoil", [{"jwt": "other"}, {"seed": "00" * 32}], ids=["a token of nobody's", "a signature by another key"]
)
def test_who_cannot_prove_the_key_is_not_let_in(groww, spoil):
    address = groww.result(feed.address(groww.access, groww.now))
    line = Line(groww, attrs.evolve(address, handed={**address.handed, **spoil}))
    assert [type(each) for each in line.events()] == [Reply, SessionDead]
    assert line.wire.closed is not None


def test_other_peoples_orders_and_more_than_a_thousand_subjects_are_refused(groww):
    line = groww.open()
    line.events()
    line.session.received(b"SUB stocks/order/updates.apex.somebody 1\r\nSUB /ld/> 2\r\n")
    assert [type(each) for each in line.events()] == [StreamRefused, StreamRefused]
    names = [name for each in groww.account.contracts() if (name := name_of(each)) is not None]
    listings = [groww.listing(name) for name in names if name.segment == "CASH" and not name.contract.is_index]
    line.send(feed.subscribe_messages(groww.access, [*listings] * 3)[:1])
    assert line.events() == []  # the same subjects again are the same subscriptions
    line.send([f"SUB /ld/eq/nse/price.{n} n{n}\r\n".encode() for n in range(1001)])
    assert any(isinstance(event, StreamRefused) for event in line.events())


@settings(max_examples=150, deadline=None)
@given(noise=st.lists(st.binary(max_size=60) | st.text(max_size=40) | st.sampled_from(
    [b"CONNECT {}\r\n", b"PING\r\n", b"SUB a\r\n", b"SUB /ld/eq/nse/price.1 1\r\n", b"UNSUB\r\n", b"PONG\r\n", b"PUB x 0\r\n"]
), max_size=6))  # fmt: skip
def test_no_message_on_the_stream_breaks_the_server(noise):
    groww = shared()
    line = groww.open()
    for message in noise:
        line.session.received(message)
    line.session.beat()
    line.session.markets_moved(frozenset(each.instrument_id for each in groww.account.contracts()[:5]))


def test_nothing_that_is_damaged_is_taken_for_a_tick(groww):
    line = groww.open()
    line.events()
    events = line.decoder.receive(b"MSG /ld/eq/nse/price.1 0zz 3\r\nabc\r\n")
    assert [type(each) for each in events] == [CorruptFrame]
