"""A flatten, and a close within limits, at the lower circuit of brokers that take no MARKET orders: the limit that stands in is refused by the exchange, and
the close goes again inside of the limits (order-engine 1.11). Judged on the ledger."""

from types import SimpleNamespace

import pytest
import trio

from onebroker.actors.engine.desk.flatten_closes import Closed, refused_for_price
from onebroker.brokers.simulator.exchange.faults import FaultKind
from tests.support.trading import Trading

BROKERS = ("fivepaisa", "shoonya", "icicidirect")


def sold(trading, code):
    """(price, status) of the sales at a broker."""
    return [
        (order.price, order.status.value)
        for order in trading.day.exchange.all_orders()
        if order.broker == code and order.new.side == "SELL" and order.new.instrument_id == trading.share.instrument_id
    ]


def net(trading, code):
    rows = trading.day.ledger()["positions"].get(code, [])
    return sum(row["quantity"] for row in rows if row["instrument_id"] == trading.share.instrument_id)


@pytest.fixture
async def at_circuit(day, request, autojump_clock):
    """A hundred units at one broker, and a market two ticks above its lower circuit."""
    code = request.param
    with trio.fail_after(86_400):
        day.__init__(brokers=("zerodha", code))
        async with day.market(), day.service(quotes=True):
            trading = Trading(day)
            await trading.move(0)
            product = "CNC" if code == "icicidirect" else "MIS"
            body = {"quantity": 100, "product": product, "order_type": "LIMIT", "price": trading.at(1), "broker": code}
            assert (await trading.send(**body)).status == 200
            await day.until(lambda: net(trading, code) == 100, 60)
            await trio.sleep(20)
            market = day.exchange.market(trading.share.instrument_id)
            day.simulator.set_price(trading.share.instrument_id, market.lower_circuit + 2 * trading.tick, 86_400)
            await trio.sleep(5)
            yield trading, code


@pytest.mark.parametrize("at_circuit", BROKERS, indirect=True)
@pytest.mark.parametrize("how", ["flatten", "close"])
async def test_the_close_goes_again_inside_of_the_circuit(at_circuit, how, autojump_clock):
    trading, code = at_circuit
    answer = await (trading.day.flatten() if how == "flatten" else trading.day.close(broker=code))
    assert answer.body["flat"], answer.body
    (refused, first), (price, second) = sold(trading, code)
    lowest = trading.day.exchange.market(trading.share.instrument_id).lower_circuit
    assert (first, second, net(trading, code)) == ("rejected", "complete", 0)
    assert refused < lowest <= price


@pytest.mark.parametrize("at_circuit", ["shoonya"], indirect=True)
async def test_a_close_that_is_refused_for_another_reason_in_the_answer_is_not_sent_again(at_circuit, autojump_clock):
    trading, code = at_circuit
    trading.day.simulator.fault(code, FaultKind.REJECT_ORDERS, seconds=60)
    answer = await trading.day.close(instrument_id=trading.share.instrument_id)
    assert (answer.body["flat"], len(answer.body["closed"])) == (False, 1)
    assert len([one for one in trading.day.messages("place") if one["broker"] == code]) == 2


WORDS = "price is outside the circuit limits 90 - 110"
ORDERS = {"rests": ("OPEN", None), "refused": ("REJECTED", WORDS), "unworded": ("REJECTED", None), "short": ("REJECTED", "insufficient funds"), "filled": ("COMPLETE", None)}  # fmt: skip


@pytest.mark.parametrize(
    ("slices", "again"),
    [
        (["refused"], True),
        (["unworded", "filled"], True),
        (["refused", "rests"], False),
        (["refused", "unseen"], False),
        (["refused", "unknown"], False),
        (["short"], False),
        (["filled"], False),
    ],
)
def test_a_position_is_closed_again_only_when_no_order_of_its_closes_may_still_fill(slices, again):
    rows = {name: SimpleNamespace(status=status, status_message=why) for name, (status, why) in ORDERS.items()}
    session = SimpleNamespace(view=SimpleNamespace(value=SimpleNamespace(orders=rows)))
    context = SimpleNamespace(session=lambda _: session)
    close = SimpleNamespace(broker="alpha", row=SimpleNamespace(position_key="I"))
    closed = [
        Closed(
            close=close, sent=True, outcome="unknown" if name == "unknown" else "accepted", order_id=name,
            status_message=None, http_status=200,
        )
        for name in slices
    ]  # fmt: skip
    assert bool(refused_for_price(context, closed)) is again
