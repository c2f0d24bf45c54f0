"""ICICI Direct's server over the real exchange: its sockets."""

from hypothesis import given, settings
from hypothesis import strategies as st

from onebroker.brokers.events import Heartbeat, Reply, Ticks
from onebroker.brokers.icicidirect import feed, order_feed
from onebroker.config.instruments import Shape
from tests.support.dialect_client import Wire

STREAMED = (
    ("equities", "nse"), ("equities", "bse"), ("equity_index_options", "nse"), ("equity_index_options", "bse"),
    ("currency_futures", "nse"), ("commodity_futures", "mcx"), ("equity_indices", "nse"),
)  # fmt: skip


def test_a_joined_instrument_streams_its_whole_market(icici):
    socket, session, decoder = icici.open(feed)
    picked = [icici.contract(*kind) for kind in STREAMED]
    listings = [icici.listing(each) for each in picked]
    decoder.subscribing(listings)
    for message in feed.subscribe_messages(icici.access, listings):
        session.received(message)
    shown = {}
    for frame in socket.frames:
        (event,) = decoder.receive(frame)
        assert isinstance(event, Ticks)
        shown.update({tick.broker_token: tick for tick in event.ticks})
    for contract, listing in zip(picked, listings, strict=True):
        tick, market = shown[listing.broker_token], icici.account.market(contract.instrument_id)
        assert (tick.last_price, tick.open) == (float(market.last_price), float(market.open))
        assert (tick.high, tick.low, tick.previous_close) == tuple(
            map(float, (market.high, market.low, market.previous_close))
        )
        if contract.is_index:
            assert (tick.volume, tick.buy, tick.oi) == (None, None, None)
            continue
        assert (tick.volume, tick.buy_quantity, tick.sell_quantity) == (
            market.volume, market.buy_quantity, market.sell_quantity,
        )  # fmt: skip
        assert [(level.price, level.quantity) for level in tick.buy] == [
            (float(each.price), each.quantity) for each in market.buy
        ]
        assert [level.quantity for level in tick.sell] == [each.quantity for each in market.sell]
        orders_known = contract.identity.exchange != "bse" or contract.bare != "equities"
        assert [level.orders for level in tick.sell] == [each.orders if orders_known else None for each in market.sell]
        assert tick.oi == (market.oi if contract.identity.shape is not Shape.SECURITY else None)
    del socket.frames[:]
    for message in feed.unsubscribe_messages(icici.access, listings[:1]):
        session.received(message)
    session.markets_moved(frozenset(each.instrument_id for each in picked))
    tokens = {event.ticks[0].broker_token for frame in socket.frames for event in decoder.receive(frame)}
    assert tokens == {listing.broker_token for listing in listings[1:]}


def test_the_server_pings_and_hangs_up_on_a_client_that_does_not_answer(icici):
    socket, session, decoder = icici.open(feed)
    icici.wall.now += 25
    session.beat()
    assert decoder.receive(socket.frames[-1]) == [Reply("3"), Heartbeat()]
    session.received("3")
    icici.wall.now += 25
    session.beat()
    icici.wall.now += 21
    session.beat()
    assert socket.closed == (1000, "ping timeout")


def test_nobody_joins_or_hears_before_the_login(icici):
    _, address = icici.drive(feed.address(icici.access, icici.now))
    socket = Wire()
    session = icici.dialect.open_socket(icici.request("GET", address.url), socket)
    contract = icici.contract("equities")
    session.received(feed.subscribe_messages(icici.access, [icici.listing(contract)])[0])
    session.markets_moved(frozenset({contract.instrument_id}))
    assert len(socket.frames) == 1


@settings(max_examples=200)
@given(message=st.one_of(st.binary(max_size=20), st.text(max_size=20), st.text(max_size=20).map(lambda text: f"42{text}"),
       st.sampled_from(['42["join",[1,null,"4.1!1001"]]', '42["join"]', '42["leave",{}]', "42[]", "40[]", '40{"user":1}', "41", "3"])))  # fmt: skip
def test_no_socket_message_makes_the_server_raise(lasting, message):
    for module in (feed, order_feed):
        _, session, _ = lasting.open(module)
        session.received(message)
        session.beat()
