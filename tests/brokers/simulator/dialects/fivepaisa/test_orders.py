"""5paisa's server over the real exchange: orders, books and funds."""

from decimal import Decimal

import msgspec
import pytest

from onebroker.brokers.broker import OrderChange
from onebroker.brokers.events import OrderUpdate
from onebroker.brokers.fivepaisa import books, feed, orders, portfolio
from onebroker.brokers.requests import NotSendable, StreamAddress
from onebroker.brokers.simulator.dialects.fivepaisa.naming import name_of
from onebroker.config.calendars import calendar_from_documents
from onebroker.config.exchange_documents import exchange_documents
from tests.brokers.simulator.dialects.fivepaisa.client import Fivepaisa
from tests.support.dialect_client import START
from tests.support.every_case import every_case


def test_an_orders_life_is_the_exchanges(broker):
    share = broker.listed("equities")
    answer = broker.place(share)
    sim = broker.newest()
    assert (answer.outcome, answer.order_id) == ("accepted", sim.order_id)
    assert (sim.quantity, sim.new.tag, sim.price) == (2, "obtoken1", broker.price(share, -3))
    row = broker.book()[answer.order_id]
    assert (row.status, row.tag, row.exchange_order_id) == ("OPEN", "obtoken1", sim.exchange_order_id)
    listing = broker.listings()[":".join(share.key)]
    change = OrderChange(row=row, listing=listing, segment="nse_equities", quantity=5, price=broker.price(share, -2))
    assert (
        orders.parse_order_answer(broker.send(orders.modify_request(broker.access, change, START))).order_id
        == row.order_id
    )
    assert (broker.newest().quantity, broker.newest().price) == (5, broker.price(share, -2))
    assert broker.book()[answer.order_id].quantity == 5
    cancel = orders.cancel_request(broker.access, broker.book()[answer.order_id], START)
    assert orders.parse_order_answer(broker.send(cancel)).outcome == "accepted"
    assert broker.newest().status == "cancelled"
    assert broker.book()[answer.order_id].status == "CANCELLED"
    late = orders.parse_order_answer(broker.send(cancel))
    assert (late.outcome, "already cancelled" in late.status_message) == ("rejected", True)


def test_a_fill_is_in_the_books_and_the_positions(broker):
    share = broker.listed("equities")
    answer = broker.place(share, price=broker.price(share, 2))
    row = broker.book()[answer.order_id]
    assert (row.status, row.filled_quantity, row.average_price > 0) == ("COMPLETE", 2, True)
    trades = books.parse_trades(broker.answers(books.trade_requests(broker.access, START)), broker.listings())
    assert sum(trade.quantity for trade in trades if trade.order_id == answer.order_id) == 2
    rows = portfolio.parse_positions(
        broker.answers(portfolio.position_requests(broker.access, START)), broker.listings()
    )
    bought = {row.view: row for row in rows if row.instrument_token == ":".join(share.key)}
    assert (bought["net"].quantity, bought["day"].buy_quantity, bought["net"].product) == (2, 2, "CNC")
    assert bought["net"].average_price == pytest.approx(row.average_price)


def test_contracts_are_ordered_and_shown_in_units(broker):
    for bare, exchange in (("commodity_futures", "mcx"), ("currency_futures", "nse"), ("equity_index_futures", "nse")):
        name = broker.listed(bare, exchange)
        answer = broker.place(name)
        assert broker.newest().quantity == broker.book()[answer.order_id].quantity == 2 * name.contract.lot_size


def test_a_stop_waits_and_is_triggered(broker):
    share = broker.listed("equities")
    wire, session = broker.open()
    decoder = feed.decoder(broker.access, StreamAddress(url=""), broker.listings())
    broker.exchange.listen("fivepaisa", session.order_changed)
    answer = broker.place(share, order_type="SL", trigger_price=broker.price(share, 2), price=broker.price(share, 4))
    assert broker.newest().status == "trigger_pending"
    assert broker.book()[answer.order_id].status == "PENDING"
    broker.exchange.set_price(share.contract.instrument_id, broker.price(share, 3), 60)
    assert broker.newest().status == "complete"
    row = broker.book()[answer.order_id]
    assert (row.status, row.order_type) == ("COMPLETE", "SL")
    told = [event for frame in wire.frames for event in decoder.receive(frame)]
    updates = [event.order for event in told if isinstance(event, OrderUpdate)]
    assert [updates[0].status, updates[-1].status] == ["PENDING", "COMPLETE"]
    assert {update.order_id for update in updates} == {answer.order_id}
    assert updates[-1].average_price == pytest.approx(row.average_price, abs=0.001)


def test_refused_orders_are_refused_in_a_200(broker):
    share = broker.listed("equities")
    before = len(broker.account.orders())
    off_tick = broker.place(share, price=broker.price(share, -3) + Decimal("0.01"))
    assert (off_tick.outcome, "tick" in off_tick.status_message) == ("rejected", True)
    market = broker.post(
        "V1/PlaceOrderRequest",
        {
            "ClientCode": "52345678", "OrderType": "Buy", "Exchange": "N", "ExchangeType": "C",
            "ScripData": share.scrip_data, "Price": 0, "Qty": "1",
        },
    )  # fmt: skip
    assert orders.parse_order_answer(market).status_message == "Market order with Algo Id not allowed"
    assert len(broker.account.orders()) == before
    banned = broker.place(share, price=broker.price(share, -60))
    said = msgspec.json.decode(msgspec.json.encode(banned.broker_response))["body"]
    assert (banned.outcome, said["Status"], said["BrokerOrderID"] != 0) == ("rejected", 1, True)
    row = broker.book()[str(said["BrokerOrderID"])]
    assert (row.status, bool(row.status_message)) == ("REJECTED", True)


@every_case(
    "body",
    [
        {}, {"Exchange": "N", "ExchangeType": "C", "ScripCode": "none"},
        *(
            {"Exchange": "N", "ExchangeType": "C", "ScripCode": 1001, "OrderType": "B", "Price": 100, "Qty": 1, **more}
            for more in (
                {"OrderType": "X"}, {"Qty": "many"}, {"Qty": -1}, {"Qty": 1.5}, {"Price": "NaN"}, {"Price": 1e300},
                {"iOrderValidity": "6"}, {"Price": True}, {"DisQty": []},
            )
        ),
    ],
)  # fmt: skip
def test_bodies_that_cannot_be_read_are_refused_as_bad_input(broker, body):
    before = len(broker.account.orders())
    answer = orders.parse_order_answer(broker.post("V1/PlaceOrderRequest", {"ClientCode": "52345678", **body}))
    assert (answer.outcome, bool(answer.status_message)) == ("rejected", True)
    assert len(broker.account.orders()) == before


def test_an_order_is_asked_for_by_our_own_number(broker):
    broker.place(broker.listed("equities"))
    asked = {"ClientCode": "52345678", "OrdStatusReqList": [{"Exch": "N", "RemoteOrderID": "obtoken1"}]}
    (row,) = msgspec.json.decode(broker.post("V3/OrderStatus", asked).body)["body"]["OrdStatusResLst"]
    assert (row["ExchOrderID"], row["Status"]) == (int(broker.newest().exchange_order_id), "Pending")
    nothing = broker.post(
        "V2/OrderStatus", asked | {"OrdStatusReqList": [{"Exch": "B", "RemoteOrderID": "obtoken1"}, 5]}
    )
    assert msgspec.json.decode(nothing.body)["body"]["OrdStatusResLst"] == []


def test_after_hours_orders_wait_without_a_number_of_the_exchange():
    calendar = calendar_from_documents(exchange_documents())
    broker = Fivepaisa(START.replace(hour=17, minute=30), calendar)
    share = broker.listed("equities")
    closed = broker.place(share)
    assert (closed.outcome, closed.status_message) == ("rejected", "Exchange is closed. Cannot place your order.")
    answer = broker.place(share, after_market=True)
    row = broker.book()[answer.order_id]
    assert (broker.newest().status, row.status, row.exchange_order_id) == ("after_market", "PENDING", None)
    with pytest.raises(NotSendable):
        orders.cancel_request(broker.access, row, START)


def test_holdings_and_funds_are_the_accounts(broker):
    rows = portfolio.parse_holdings(broker.answers(portfolio.holding_requests(broker.access, START)))
    held = {":".join(name_of(broker.account.contract(one.instrument_id)).key): one for one in broker.account.holdings()}
    assert {row.instrument_token: row.settled_quantity + row.t1_quantity for row in rows} == {
        token: one.total_quantity for token, one in held.items()
    }
    assert {row.instrument_token: row.t1_quantity for row in rows} == {
        token: one.t1_quantity for token, one in held.items()
    }
    funds = portfolio.parse_funds(broker.answers(portfolio.fund_requests(broker.access, START)))
    assert funds.available_balance == pytest.approx(float(broker.account.funds().available))
    assert funds.cash_balance + funds.collateral_value - funds.margin_utilized == pytest.approx(funds.available_balance)
