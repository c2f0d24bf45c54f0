"""SFeed: the first messages, packets of every kind, and frames that are none."""

import struct
from datetime import datetime

import attrs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.events import CorruptFrame, Heartbeat, Ready, StreamRefused, Ticks
from onebroker.brokers.kotakneo import feed
from onebroker.brokers.records import DepthLevel, Listing
from onebroker.brokers.requests import NotSent, StreamAddress, WireResponse
from onebroker.config.clock import IST

NOW = datetime(2026, 11, 23, 10, tzinfo=IST)
ADDRESS = StreamAddress(url="ws://feed")
SHARE = Listing(broker_token="nse_cm|2885", tradingsymbol="RELIANCE-EQ", exchange="nse_cm")
INDEX = Listing(broker_token="nse_cm|26000", tradingsymbol="NIFTY", exchange="nse_cm", other_names="Nifty 50")
PAIR = Listing(broker_token="cde_fo|1201", tradingsymbol="USDINR26OCTFUT", exchange="cde_fo", contract_units=1000)
AUTHENTICATED = (
    '{"message_code":1119,"id":"SFD_CPROD_701","version":1,"exchanges":{"nse_cm":{"value":1,"divider":100},'
    '"cde_fo":{"value":3,"divider":10000000},"bse_cd":{"value":7,"divider":10000000}}}'
)


def header(body, code=7208, exchange=1, level=8):
    return struct.pack("<HHbBBBB", 9 + len(body), code, exchange, level, 0, 1, 0) + body


def picture(
    token=2885, *, level=8, rows=(), counts=(0, 0), last=154130, exchange=1, interest=77, updated=1_795_000_001
):
    body = struct.pack(
        "<IqqqqqIIIIIqIIIIhiIdiIIIIIBI", token, 11, 22, 33, 1_795_000_000, updated, 154700, 154560, 155360, 154060, last,
        5, 154500, 0, *counts, 2, -28, interest, 1.0, -430, 0, 0, 0, 0, 1, 2, 1,
    )  # fmt: skip
    return header(body + b"".join(struct.pack("<qii", *row) for row in rows), exchange=exchange, level=level)


@pytest.fixture
def decoder(access):
    listings = {each.broker_token: each for each in (SHARE, INDEX, PAIR)}
    made = feed.decoder(access, ADDRESS, listings)
    assert made.receive(AUTHENTICATED) == [Ready()]
    return made


def ticks(decoder, frame):
    (event,) = decoder.receive(frame)
    assert isinstance(event, Ticks)
    return event.ticks


def test_the_first_message_names_the_session_and_the_format(access):
    (message,) = feed.opening_messages(access)
    sent = msgspec.json.decode(message)
    assert (sent["user"], sent["auth"], sent["format"], sent["source"]) == (
        "YAB12", "sid-1", "native_batch", "NEOTRADEAPI",
    )  # fmt: skip
    assert sent["conn_req_time"] == 1_795_000_000_000


def test_indices_are_subscribed_by_name_and_apart(access):
    sent = [msgspec.json.decode(message) for message in feed.subscribe_messages(None, [SHARE, INDEX, PAIR])]
    assert sent == [
        {"event": "subscribeDepth", "inputtoken": "nse_cm|2885,cde_fo|1201"},
        {"event": "subscribeIndices", "inputtoken": "nse_cm|Nifty 50"},
    ]
    left = [msgspec.json.decode(message) for message in feed.unsubscribe_messages(None, [INDEX])]
    assert left == [{"event": "unsubscribeIndices", "inputtoken": "nse_cm|Nifty 50"}]
    many = [msgspec.structs.replace(SHARE, broker_token=f"nse_cm|{n}") for n in range(1000)]
    messages = feed.subscribe_messages(None, many)
    assert len(messages) == 4
    assert sum(len(msgspec.json.decode(each)["inputtoken"].split(",")) for each in messages) == 1000
    assert feed.subscribe_messages(None, []) == []
    assert feed.ping_message() is None


def test_a_market_picture_with_its_depth_is_read(decoder):
    rows = ((500, 154130, 2), (400, 154100, 1), (0, 0, 0), (10, 154140, 3), (0, 154200, 0))
    (tick,) = ticks(decoder, picture(rows=rows, counts=(3, 2)))
    assert (tick.broker_token, tick.last_price, tick.average_price) == ("nse_cm|2885", 1541.3, 1545.0)
    assert (tick.open, tick.high, tick.low, tick.previous_close) == (1547.0, 1553.6, 1540.6, 1545.6)
    assert (tick.volume, tick.buy_quantity, tick.sell_quantity, tick.last_quantity) == (33, 11, 22, 5)
    assert (tick.oi, tick.last_trade_time, tick.exchange_time) == (None, 1_795_000_000.0, 1_795_000_001.0)
    assert tick.buy == (DepthLevel(1541.3, 500, 2), DepthLevel(1541.0, 400, 1))
    assert tick.sell == (DepthLevel(1541.4, 10, 3),)


def test_depth_is_cut_to_five_and_to_what_is_there(decoder):
    rows = [(n + 1, 100 + n, 1) for n in range(40)]
    (deep,) = ticks(decoder, picture(level=16, rows=rows, counts=(20, 20)))
    assert [each.quantity for each in deep.buy] == [1, 2, 3, 4, 5]
    assert [each.quantity for each in deep.sell] == [21, 22, 23, 24, 25]
    (touch,) = ticks(decoder, picture(level=4, rows=rows[:2], counts=(9, 9)))
    assert (touch.buy, touch.sell) == ((DepthLevel(1.0, 1, 1),), (DepthLevel(1.01, 2, 1),))
    (fewer,) = ticks(decoder, picture(rows=rows[:3], counts=(5, 5)))
    assert (len(fewer.buy), fewer.sell) == (3, ())


def test_currency_has_another_divider_and_contracts_become_units(decoder, access):
    frame = picture(1201, exchange=3, last=885_000_000, rows=((2, 884_975_000, 1),), counts=(1, 0))
    (tick,) = ticks(decoder, frame)
    assert (tick.last_price, tick.volume, tick.oi) == (88.5, 33000, 77000)
    assert tick.buy == (DepthLevel(88.4975, 2000, 1),)
    (tick,) = ticks(feed.decoder(access, ADDRESS, {}), frame)  # neither dividers nor listings yet
    assert (tick.last_price, tick.volume, tick.buy) == (88.5, None, None)


def test_mini_and_index_packets_are_read(decoder):
    mini = header(struct.pack("<IqIqIiiIBI", 2885, 1_795_000_000, 154130, 7, 154560, -28, -430, 1, 2, 1), level=1)
    index = header(
        struct.pack("<IiiiiiQiiidBi21s", 26000, 1, 2614790, 2623535, 2611075, 2620800, 1_795_000_000, 1, 1, 22, 0.0, 2, 100, b"Nifty 50"),
        code=7207, level=0,
    )  # fmt: skip
    assert (len(mini), len(index)) == (54, 87)
    first, second = ticks(decoder, mini + index)
    assert (first.last_price, first.previous_close, first.last_quantity, first.buy) == (1541.3, 1545.6, 7, None)
    assert (second.broker_token, second.last_price, second.previous_close) == ("nse_cm|26000", 26208.0, 26147.9)
    assert (second.open, second.high, second.volume) == (0.01, 26235.35, None)


def test_what_never_traded_is_no_tick_and_never_is_no_time(decoder):
    assert decoder.receive(picture(last=0)) == []
    (tick,) = ticks(decoder, picture(updated=-2_209_008_600))
    assert tick.exchange_time is None


def test_packets_without_a_price_of_ours_are_passed_over(decoder):
    status = header(struct.pack("<H5s", 1, b"OPEN"), code=105, level=0)
    auction = header(struct.pack("<IIqq", 1, 2, 3, 4), code=104, level=0)
    assert decoder.receive(status + auction + header(b"", code=6511, level=0) + header(b"", code=6521)) == []


@pytest.mark.parametrize(
    "bad",
    [b"\x00", b"\x05\x00", picture()[:-1], b"\x00\x00" * 8, picture(level=3), picture(exchange=42), header(b"x" * 10)],
)
def test_a_bad_packet_is_counted_and_what_came_before_it_counts(decoder, bad):
    events = decoder.receive(picture() + bad)
    assert [type(event) for event in events] == [Ticks, CorruptFrame]
    assert len(events[0].ticks) == 1


@given(frame=st.binary(max_size=400), cut=st.integers(0, 160), place=st.integers(0, 143), byte=st.integers(0, 255))
def test_no_frame_makes_it_raise(frame, cut, place, byte):
    decoder = feed.decoder(None, ADDRESS, {})
    whole = picture(rows=((1, 1, 1),), counts=(1, 0))
    for each in (frame, whole[:cut], whole[:place] + bytes([byte]) + whole[place + 1 :], whole + frame):
        for event in decoder.receive(each):
            assert isinstance(event, Ticks | CorruptFrame)


@given(text=st.text(max_size=60))
def test_no_text_makes_it_raise(text):
    assert len(feed.decoder(None, ADDRESS, {}).receive(text)) == 1


@pytest.mark.parametrize(
    ("text", "event"),
    [
        ('{"message_code":1117}', Ready()),
        ('{"message_code":1109,"trading_symbols":{}}', Heartbeat()),
        ('{"message_code":1119,"format":"native_fallback"}', StreamRefused("the feed answers in another format than the one asked for")),
        ('{"error":"too many"}', StreamRefused("too many")),
        ('{"message_code":1119,"exchanges":{"nse_cm":5,"x":{"divider":"y"}}}', Ready()),
    ],
)  # fmt: skip
def test_control_messages_are_told_apart(access, text, event):
    assert feed.decoder(access, ADDRESS, {}).receive(text) == [event]


# --- where it is -------------------------------------------------------------------------------------------------------


def address(access, answer):
    flow = feed.address(access, NOW)
    request = next(flow)
    assert request.url.startswith("https://lapi.kotaksecurities.com/5config/config?appVersion=")
    with pytest.raises(StopIteration) as done:
        flow.throw(answer) if isinstance(answer, Exception) else flow.send(answer)
    return done.value.value.url


def config(**configs):
    return WireResponse(status=200, body=msgspec.json.encode({"data": {"configs": configs}}))


def test_the_config_service_knows_the_socket_of_the_data_centre(access):
    told = config(E43_broadcast_source="sh", E43_sh_broadcast_endpoint="https://feed.kotak.test/apifeed")
    assert address(access, told) == "wss://feed.kotak.test/apifeed"


@pytest.mark.parametrize(
    "answer",
    [config(), config(E43_broadcast_source="sh"), WireResponse(status=500, body=b"<html>"), NotSent("refused"),
     WireResponse(status=200, body=b'{"data":[]}')],
)  # fmt: skip
def test_without_it_the_logins_answer_counts_then_the_configured_address(access, answer):
    assert address(access, answer) == "wss://sfeed.kotaksecurities.com/apifeed"
    login = attrs.evolve(access.login, tokens={**access.login.tokens, "feedUrl": "https://own.kotak.test/feed"})
    assert address(attrs.evolve(access, login=login), answer) == "wss://own.kotak.test/feed"


def index_packet(token, name):
    return header(
        struct.pack("<I5iQ", token, 1, 2, 3, 4, 2_420_000, 1_795_000_000) + bytes(25) + name.ljust(21, b"\0"), code=7207
    )


def test_an_index_under_another_number_than_the_files_is_told_by_its_name(decoder):
    decoder.subscribing([SHARE, INDEX])
    for token, name in ((26000, b"NIFTY"), (1, b"Nifty 50"), (26000, b"Nifty Bank"), (0, b"NIFTY 50")):
        (tick,) = ticks(decoder, index_packet(token, name))
        assert (tick.broker_token, tick.last_price) == ("nse_cm|26000", 24200.0)
    (tick,) = ticks(decoder, index_packet(7, b"Nifty Bank"))
    assert tick.broker_token == "nse_cm|7"
