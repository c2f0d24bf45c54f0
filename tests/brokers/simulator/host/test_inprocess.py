"""A simulator in the same process under MockClock: the transport's promises, and every fault of the wire."""

import json
from datetime import datetime

import msgspec
import pytest
import trio

from onebroker.brokers.requests import BadAnswer, CallKind, NotSent, OutcomeUnknown, StreamAddress, WireRequest
from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.brokers.simulator.exchange.journal import MemoryJournal
from onebroker.brokers.simulator.host.control_api import ledger_document
from onebroker.brokers.simulator.host.inprocess import InProcessTransport, base_of
from onebroker.brokers.simulator.host.simulation import Recipe, Simulator
from onebroker.brokers.transport.interface import StreamClosed, StreamRefusedHandshake
from onebroker.config.calendars import always_open
from onebroker.config.clock import IST, Clock

START = datetime(2026, 11, 23, 21, 0, tzinfo=IST)


class Bench:
    """A simulator with two echo brokers, its transport, and short forms of requests."""

    def __init__(self, echo):
        clock = Clock.following_trio(START)
        dialects = {"zerodha": echo.build, "upstox": echo.build}
        self.simulator = Simulator(
            Recipe(dialects=dialects, calendar=always_open(), clock=clock, journal=MemoryJournal(), instruments=100)
        )
        self.transport = InProcessTransport(self.simulator)
        self.share = next(each for each in self.simulator.exchange.contracts() if each.bare == "equities")

    def order(self, **changes):
        plain = {
            "instrument_id": self.share.instrument_id, "side": "BUY", "product": "CNC", "order_type": "MARKET",
            "validity": "DAY", "quantity": 1, "tag": "t1",
        }  # fmt: skip
        return {**plain, **changes}

    async def call(self, method, target, body=None, *, code="zerodha", seconds=5):
        request = WireRequest(
            kind=CallKind.ORDER, method=method, url=base_of(code) + target, headers={"X-Name": "me"},
            body=b"" if body is None else msgspec.json.encode(body),
        )  # fmt: skip
        return await self.transport.send(request, seconds)

    async def stream(self, target="/stream", code="zerodha"):
        url = base_of(code).replace("http", "ws") + target
        return await self.transport.connect(StreamAddress(url=url), 5)

    @property
    def ledger(self):
        return json.loads(msgspec.json.encode(ledger_document(self.simulator, 0)))


@pytest.fixture
async def bench(echo, nursery, autojump_clock):
    bench = Bench(echo)
    await nursery.start(bench.simulator.run_market)
    return bench


async def next_but_beats(stream):
    with trio.fail_after(60):
        while (frame := await stream.receive()) == "beat":
            pass
    return frame


async def to_the_end(stream):
    with trio.fail_after(60):
        while True:
            await stream.receive()


async def test_requests_reach_the_dialect_as_they_were_sent(autojump_clock, bench):
    answer = await bench.call("GET", "/base?a=1&b=x%20y&a=2")
    said = answer.json()
    assert said["base"] == base_of("zerodha")
    assert said["query"] == [["a", "1"], ["b", "x y"], ["a", "2"]]
    assert said["headers"]["x-name"] == "me"
    assert answer.headers["content-type"] == "application/json"


async def test_an_order_and_its_answer_stand_in_the_ledger(autojump_clock, bench):
    placed = await bench.call("POST", "/place", bench.order())
    refused = await bench.call("POST", "/place", bench.order(quantity=0))
    ledger = bench.ledger
    assert (placed.status, refused.status) == (200, 400)
    assert ledger["next"] == 3
    first, second = ledger["messages"]
    assert (first["n"], first["broker"], first["verb"], first["tag"], first["quantity"]) == (
        1,
        "zerodha",
        "place",
        "t1",
        1,
    )
    assert first["order_id"] == placed.json()["order_id"]
    assert json.loads(first["raw"]["body"]) == bench.order()
    assert json.loads(first["answer"]["body"]) == placed.json()
    assert first["delivered"] is True
    assert (second["order_id"], second["answer"]["status"]) == (None, "400")
    await bench.call("POST", f"/cancel?order_id={first['order_id']}")
    assert bench.ledger["messages"][2]["verb"] == "cancel"
    assert [message.n for message in ledger_document(bench.simulator, 3)["messages"]] == [3]


async def test_sockets_carry_frames_both_ways_and_hear_markets_orders_and_beats(autojump_clock, bench):
    stream = await bench.stream()
    await stream.send("hello")
    assert await next_but_beats(stream) == "hello"
    await stream.send(b"\x01\x02")
    assert await next_but_beats(stream) == b"\x01\x02"
    placed = await bench.call("POST", "/place", bench.order())
    order_id = placed.json()["order_id"]
    assert await next_but_beats(stream) == f"order {order_id} open"
    assert await next_but_beats(stream) == f"order {order_id} complete 1"
    with trio.fail_after(60):
        assert await stream.receive() == "beat"
    await stream.send(f"watch {bench.share.instrument_id}")
    assert (await next_but_beats(stream)).startswith("price ")
    price = bench.simulator.exchange.last_price(bench.share) + 5 * bench.share.tick_size
    bench.simulator.set_price(bench.share.instrument_id, price)
    frames = [await next_but_beats(stream) for _ in range(2)]
    assert f"price {price}" in frames


async def test_a_socket_may_be_refused_redirected_and_closed(autojump_clock, bench):
    with pytest.raises(StreamRefusedHandshake) as refused:
        await bench.stream("/closed")
    assert refused.value.status == 403
    stream = await bench.stream("/elsewhere")
    await stream.send("bye")
    with pytest.raises(StreamClosed) as closed:
        await next_but_beats(stream)
    assert (closed.value.code, closed.value.reason) == (4000, "as you wish")
    with pytest.raises(StreamClosed):
        await stream.send("more")


async def test_a_client_that_does_not_read_is_cut_off(autojump_clock, bench):
    stream = await bench.stream()
    await stream.send("flood")
    with pytest.raises(StreamClosed):
        await to_the_end(stream)


async def test_refused_connections_reach_nobody(autojump_clock, bench):
    bench.simulator.fault("zerodha", FaultKind.REFUSE_CONNECTIONS, count=2)
    with pytest.raises(NotSent):
        await bench.call("POST", "/place", bench.order())
    with pytest.raises(NotSent):
        await bench.stream()
    assert bench.ledger["messages"] == []
    assert (await bench.call("POST", "/place", bench.order(), code="upstox")).status == 200


async def test_an_unknown_address_is_not_sent(autojump_clock, bench):
    with pytest.raises(NotSent):
        await bench.call("GET", "/orders", code="nobody")


async def test_a_slow_broker_is_waited_for_or_given_up(autojump_clock, bench):
    bench.simulator.fault("zerodha", FaultKind.LATENCY, count=2, delay_seconds=3)
    began = trio.current_time()
    assert (await bench.call("GET", "/orders")).status == 200
    assert trio.current_time() - began == pytest.approx(3)
    with pytest.raises(OutcomeUnknown):
        await bench.call("POST", "/place", bench.order(), seconds=1)


async def test_a_dropped_answer_leaves_the_order_standing_and_the_ledger_says_so(autojump_clock, bench):
    bench.simulator.fault("zerodha", FaultKind.DROP_AFTER_ACCEPT, count=1)
    assert (await bench.call("GET", "/orders")).status == 200
    with pytest.raises(OutcomeUnknown):
        await bench.call("POST", "/place", bench.order())
    message = bench.ledger["messages"][0]
    assert message["delivered"] is False
    assert message["order_id"] in {order["order_id"] for order in bench.ledger["orders"]}


async def test_a_garbled_answer_hides_what_was_done(autojump_clock, bench):
    bench.simulator.fault("zerodha", FaultKind.GARBAGE_BODY, count=1)
    answer = await bench.call("POST", "/place", bench.order())
    assert answer.status == 200
    with pytest.raises(BadAnswer):
        answer.json()
    assert bench.ledger["messages"][0]["delivered"] is False


async def test_an_answer_about_another_order_hides_whose_message_was_worked(autojump_clock, bench):
    tag, low = "ob0123456789ab", str(bench.simulator.exchange.market(bench.share.instrument_id).lower_circuit)
    placed = (await bench.call("POST", "/place", bench.order(order_type="LIMIT", price=low, tag=tag))).json()
    order_id = placed["order_id"]
    bench.simulator.fault("zerodha", FaultKind.ANOTHER_ORDER, count=3)
    assert (await bench.call("GET", f"/order?order_id={order_id}")).json()["order_id"] == order_id
    for target, body in (("/modify", {"order_id": order_id, "quantity": 2}), (f"/cancel?order_id={order_id}", None)):
        answer = await bench.call("POST", target, body)
        assert answer.status == 200
        assert answer.json()["order_id"] not in (order_id, None)
        assert answer.json()["exchange_order_id"] not in (placed["exchange_order_id"], None)
    another = (await bench.call("POST", "/place", bench.order(tag=tag))).json()
    assert another["new"]["tag"] not in (tag, None)
    assert another["order_id"] in {order["order_id"] for order in bench.ledger["orders"]}
    assert [message["delivered"] for message in bench.ledger["messages"]] == [True, False, False, False]
    (order,) = [one for one in bench.ledger["orders"] if one["order_id"] == order_id]
    assert (order["quantity"], order["status"]) == (2, "cancelled")
    whole = (await bench.call("POST", "/place", bench.order(tag=tag))).json()
    assert whole["new"]["tag"] == tag


@pytest.mark.parametrize(("kind", "status"), [(FaultKind.HTTP_500, 500), (FaultKind.REFUSAL_IN_200, 200)])
async def test_answers_that_do_nothing(autojump_clock, bench, kind, status):
    bench.simulator.fault("zerodha", kind, count=1)
    answer = await bench.call("POST", "/place", bench.order())
    assert answer.status == status
    assert bench.ledger["messages"] == []


async def test_an_expired_session_reaches_the_dialect_once(autojump_clock, bench):
    bench.simulator.fault("all", FaultKind.EXPIRE_SESSION)
    for gateway in bench.simulator.gateways.values():
        assert gateway.dialect.session() == {"access_token": "expired-1"}


async def test_streams_stall_drop_corrupt_and_repeat(autojump_clock, bench):
    stream = await bench.stream()
    bench.simulator.fault("zerodha", FaultKind.STALL_STREAM, seconds=30)
    await stream.send("lost")
    with trio.move_on_after(29) as waiting:
        await stream.receive()
    assert waiting.cancelled_caught
    await trio.sleep(2.25)  # between two beats
    bench.simulator.fault("zerodha", FaultKind.CORRUPT_FRAME, count=1)
    await stream.send("a whole frame")
    frame = await next_but_beats(stream)
    assert frame != "a whole frame"
    bench.simulator.fault("zerodha", FaultKind.DUPLICATE_FILL_EVENTS, count=1)
    await bench.call("POST", "/place", bench.order())
    events = [await next_but_beats(stream) for _ in range(3)]
    assert events[1] == events[2]
    bench.simulator.fault("zerodha", FaultKind.DROP_STREAM, count=1)
    with pytest.raises(StreamClosed) as closed:
        await next_but_beats(stream)
    assert closed.value.code == 1006


async def test_too_many_orders_are_refused_in_the_brokers_words_and_reads_are_not(autojump_clock, bench):
    answers = [await bench.call("POST", "/place", bench.order()) for _ in range(11)]
    assert [answer.status for answer in answers] == [200] * 10 + [429]
    assert (await bench.call("GET", "/orders")).status == 200
    await trio.sleep(1)
    assert (await bench.call("POST", "/place", bench.order())).status == 200
    assert len(bench.ledger["messages"]) == 11


async def test_a_dialects_mistake_is_a_500_and_the_others_go_on(autojump_clock, bench, caplog):
    assert (await bench.call("GET", "/nothing_of_the_kind")).status == 500
    assert "could not answer" in caplog.text
    assert (await bench.call("GET", "/orders", code="upstox")).status == 200


async def test_a_closed_transport_sends_nothing(autojump_clock, bench):
    async with bench.transport:
        stream = await bench.stream()
    with pytest.raises(NotSent):
        await bench.call("GET", "/orders")
    with pytest.raises(StreamClosed):
        await stream.receive()


async def test_the_rest_of_a_trading_day_passes_in_a_moment(autojump_clock, bench):
    placed = await bench.call("POST", "/place", bench.order(order_type="LIMIT", price=str(bench.share.tick_size)))
    assert placed.json()["status"] == "rejected"
    low = bench.simulator.exchange.account("zerodha").market(bench.share.instrument_id).lower_circuit
    resting = await bench.call("POST", "/place", bench.order(order_type="LIMIT", price=str(low)))
    await trio.sleep(3 * 3600 + 1)
    order = await bench.call("GET", f"/order?order_id={resting.json()['order_id']}")
    assert order.json()["status"] == "expired"


async def test_ticks_of_one_instrument_stop_while_others_go_on_and_reads_are_right(autojump_clock, bench):
    other = [each for each in bench.simulator.exchange.contracts() if each.bare == "equities"][1]
    stream = await bench.stream()
    for share in (bench.share, other):
        await stream.send(f"watch {share.instrument_id}")
    bench.simulator.fault("zerodha", FaultKind.STALLED_QUOTES, instrument_id=bench.share.instrument_id)
    price = bench.simulator.exchange.last_price(bench.share) + bench.share.tick_size
    bench.simulator.set_price(bench.share.instrument_id, price)
    seen = [await next_but_beats(stream) for _ in range(4)]
    assert f"price {price}" not in seen
    bench.simulator.fault("zerodha", FaultKind.STALLED_QUOTES, seconds=20)
    await trio.sleep(0.1)
    with trio.move_on_after(15):
        assert not [await next_but_beats(stream) for _ in range(1)]
    bench.simulator.faults.heal()
    assert f"price {price}" in [await next_but_beats(stream) for _ in range(2)]
    assert bench.simulator.exchange.market(bench.share.instrument_id).last_price == price


async def test_the_volume_is_zero_in_one_tick_and_in_no_other_read(autojump_clock, bench):
    account, seen = bench.simulator.exchange.account("zerodha"), []
    bench.simulator.fault("zerodha", FaultKind.ODD_VOLUME, count=1, instrument_id=bench.share.instrument_id)
    assert account.market(bench.share.instrument_id).volume > 0
    account.ticking = True
    seen = [account.market(bench.share.instrument_id).volume for _ in range(2)]
    assert seen[0] == 0 < seen[1]
