"""The order stream: its greeting, its address, what its frames mean, and which are not taken twice."""

from datetime import datetime

import attrs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.events import BooksMoved, CorruptFrame, Heartbeat, OrderUpdate, Ready, StreamRefused
from onebroker.brokers.kotakneo import order_feed
from onebroker.brokers.requests import NotSent, StreamAddress
from onebroker.config.clock import IST

NOW = datetime(2026, 11, 23, 10, tzinfo=IST)
ADDRESS = StreamAddress(url="ws://orders")
YES = '{"ak":"ok","type":"cn","task":"cn","msg":"connected"}'
DOCUMENTED = {
    "nOrdNo": "260216000308219", "ordSt": "complete", "avgPrc": "35.88", "qty": 1, "fldQty": 1, "unFldSz": 0,
    "sym": "ITBEES", "trnsTp": "B", "prcTp": "MKT", "prod": "NRML", "exSeg": "nse_cm",
    "ordDtTm": "16-Feb-2026 12:29:31", "exOrdId": "1100000049435826", "trdSym": "ITBEES-EQ", "tok": "19084",
    "updRecvTm": 1771225171933015921,
}  # fmt: skip
WHOLE = {**DOCUMENTED, "prc": "0.00", "trgPrc": "0.00", "vldt": "DAY", "GuiOrdId": "ob1", "ordGenTp": "AMO"}


@pytest.fixture
def fresh(access):
    return order_feed.decoder(access, ADDRESS, {})


@pytest.fixture
def decoder(fresh):
    assert fresh.receive(YES) == [Ready()]
    return fresh


def frame(kind, data):
    return msgspec.json.encode({"type": kind, "data": data}).decode()


def test_the_greeting_looks_like_json_and_is_none(access):
    assert order_feed.opening_messages(access) == ["{type:cn,Authorization:trade,Sid:sid-1,src:WEB}"]
    assert order_feed.subscribe_messages(None, []) == order_feed.unsubscribe_messages(None, []) == []
    assert order_feed.ping_message() is None


def test_the_brokers_yes_makes_it_ready_and_so_does_what_it_pushes(fresh):
    assert fresh.receive('{"ak":"nk","type":"cn","msg":"invalid"}') == [StreamRefused("invalid")]
    assert fresh.receive(frame("position", {"sym": "ITBEES"})) == [Ready(), BooksMoved()]
    assert fresh.receive(frame("order", DOCUMENTED)) == [BooksMoved()]
    assert fresh.receive(YES) == [Ready()]


def test_a_documented_order_frame_moves_the_books_once(decoder):
    assert decoder.receive(frame("order", DOCUMENTED)) == [BooksMoved()]
    assert decoder.receive(frame("order", DOCUMENTED)) == [Heartbeat()]
    older = {**DOCUMENTED, "updRecvTm": DOCUMENTED["updRecvTm"] - 1}
    assert decoder.receive(frame("order", older)) == [Heartbeat()]
    newer = {**DOCUMENTED, "updRecvTm": DOCUMENTED["updRecvTm"] + 1}  # a float could not tell them apart
    assert decoder.receive(frame("order", newer)) == [BooksMoved()]
    other = {**DOCUMENTED, "nOrdNo": "2"}
    assert decoder.receive(frame("order", other)) == [BooksMoved()]


def test_a_frame_without_its_time_always_counts(decoder):
    bare = {name: value for name, value in DOCUMENTED.items() if name != "updRecvTm"}
    assert decoder.receive(frame("order", bare)) == decoder.receive(frame("order", bare)) == [BooksMoved()]


def test_a_frame_that_says_all_of_its_order_is_an_update(decoder):
    (event,) = decoder.receive(frame("order", WHOLE))
    assert isinstance(event, OrderUpdate)
    assert (event.order.status, event.order.average_price, event.order.tag) == ("COMPLETE", 35.88, "ob1")
    assert (event.order.instrument_token, event.order.variety) == ("nse_cm|19084", "AMO")  # a cancel needs to know


@pytest.mark.parametrize("missing", ["fldQty", "ordGenTp", "avgPrc", "prod", "prcTp", "trnsTp", "qty", "ordSt"])
def test_a_frame_that_lacks_any_figure_of_its_order_moves_the_books(decoder, missing):
    partial = {name: value for name, value in WHOLE.items() if name != missing}
    assert decoder.receive(frame("order", partial)) == [BooksMoved()]


def test_a_position_moves_the_books_and_what_is_new_is_a_sign_of_life(decoder):
    assert decoder.receive(frame("position", {"sym": "ITBEES"})) == [BooksMoved()]
    assert decoder.receive('{"type":"holding"}') == [Heartbeat()]


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "connected",
        "[]",
        '{"type":"order"}',
        '{"type":"order","data":[]}',
        b"\xff\xfe",
        frame("order", {**WHOLE, "qty": ""}),
    ],
)
def test_a_frame_that_cannot_be_read_is_counted(decoder, bad):
    (event,) = decoder.receive(bad)
    assert isinstance(event, CorruptFrame)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*WHOLE, "type", "data", "ak"]), inner, max_size=6)
    ),
)


@given(data=JSON, kind=st.sampled_from(["order", "position", "cn", "x"]), raw=st.binary(max_size=40))
def test_no_frame_makes_it_raise(data, kind, raw):
    decoder = order_feed.decoder(None, ADDRESS, {})
    for each in (
        raw,
        raw.decode("latin-1"),
        msgspec.json.encode({"type": kind, "data": data}),
        msgspec.json.encode(data),
    ):
        assert 1 <= len(decoder.receive(each)) <= 2


def address(access):
    flow = order_feed.address(access, NOW)
    try:
        next(flow)
        flow.throw(NotSent("refused"))
    except StopIteration as stop:
        return stop.value.url
    raise AssertionError("it asks again")


def test_without_the_config_service_it_is_on_the_host_of_the_session(access, bare):
    assert address(access) == "wss://e43.kotaksecurities.com/realtime"
    with_path = {**access.login.tokens, "baseUrl": "http://127.0.0.1:9/some/path"}
    assert (
        address(attrs.evolve(access, login=attrs.evolve(access.login, tokens=with_path))) == "ws://127.0.0.1:9/realtime"
    )
    named = {**access.login.tokens, "rtUrl": "https://rt.kotak.test/realtime"}
    assert (
        address(attrs.evolve(access, login=attrs.evolve(access.login, tokens=named))) == "wss://rt.kotak.test/realtime"
    )
    assert address(bare) == "wss://mis.kotaksecurities.com/realtime"
