"""SmartAPI's server over the real exchange: orders, books and funds."""

from decimal import Decimal

import attrs
import msgspec
import pytest

from onebroker.brokers.angelone import books, order_feed, orders, portfolio
from onebroker.brokers.broker import OrderChange
from onebroker.brokers.events import Heartbeat, OrderUpdate
from onebroker.brokers.simulator.dialects.angelone.naming import name_of
from onebroker.config.vocabulary import Outcome
from tests.brokers.simulator.dialects.angelone.client import ADDRESS
from tests.support.dialect_client import START
from tests.support.every_case import every_case


# orders ---------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("order_type", "variety"), [("LIMIT", "NORMAL"), ("SL", "STOPLOSS"), ("SL-M", "STOPLOSS")])
def test_an_order_is_placed_shown_changed_and_cancelled_under_its_variety(angel, order_type, variety):
    name = angel.listed("equities")
    market, tick = angel.account.market(name.contract.instrument_id), name.contract.tick_size
    values = {"order_type": order_type, "quantity": 7}
    if order_type != "LIMIT":
        values |= {"trigger_price": market.upper_circuit - 4 * tick, "price": None}
    if order_type == "SL":
        values["price"] = market.upper_circuit - 2 * tick
    placed = angel.place(name, **values)
    assert placed.outcome is Outcome.ACCEPTED
    row = angel.book(placed.order_id)
    status = "OPEN" if order_type == "LIMIT" else "PENDING"
    assert (row.status, row.quantity, row.tag, row.product) == (status, 7, "ob0123456789ab", "CNC")
    assert (row.order_type, row.variety) == (order_type, variety)
    change = OrderChange(row=row, listing=angel.listing(name), segment="nse_equities", quantity=9)
    changed = orders.parse_order_answer(angel.send(orders.modify_request(angel.access, change, angel.now)))
    assert changed.outcome is Outcome.ACCEPTED
    held = angel.account.order(placed.order_id)
    assert (held.quantity, held.price, held.trigger_price) == (
        9,
        angel.ticket(name, **values).price,
        values.get("trigger_price"),
    )
    cancelled = orders.parse_order_answer(angel.send(orders.cancel_request(angel.access, row, angel.now)))
    assert (cancelled.outcome, cancelled.order_id) == (Outcome.ACCEPTED, placed.order_id)
    row = angel.book(placed.order_id)
    assert (row.status, row.quantity, row.cancelled_quantity, row.pending_quantity) == ("CANCELLED", 9, 9, 0)
    again = orders.parse_order_answer(angel.send(orders.cancel_request(angel.access, row, angel.now)))
    assert again.outcome is Outcome.REJECTED


def test_an_order_is_changed_and_cancelled_only_under_the_variety_it_was_placed_with(angel):
    placed = angel.place(angel.listed("equities"))
    row = msgspec.structs.replace(angel.book(placed.order_id), variety="AMO")
    answer = orders.parse_order_answer(angel.send(orders.cancel_request(angel.access, row, angel.now)))
    assert (answer.outcome, answer.broker_response["errorcode"]) == (Outcome.REJECTED, "AB1008")


def test_an_after_market_order_keeps_its_variety(angel):
    placed = angel.place(angel.listed("equities"), after_market=True)
    assert placed.outcome is Outcome.ACCEPTED
    assert angel.account.order(placed.order_id).new.after_market
    row = angel.book(placed.order_id)
    assert row.variety == "AMO"
    assert (
        orders.parse_order_answer(angel.send(orders.cancel_request(angel.access, row, angel.now))).outcome
        is Outcome.ACCEPTED
    )


@pytest.mark.parametrize(
    ("bare", "exchange"),
    [
        ("commodity_futures", "ncdex"),
        ("currency_futures", "nse"),
        ("currency_options", "nse"),
    ],
)
def test_lots_go_over_the_wire_and_units_come_back(angel, bare, exchange):
    name = angel.listed(bare, exchange)
    request = orders.place_request(angel.access, angel.ticket(name, quantity=2 * name.units), angel.now)
    assert msgspec.json.decode(request.body)["quantity"] == "2"
    answer = orders.parse_order_answer(angel.send(request))
    assert angel.account.order(answer.order_id).quantity == 2 * name.units
    row = angel.book(answer.order_id)
    assert (row.quantity, row.pending_quantity, row.contract_units) == (2 * name.units, 2 * name.units, name.units)
    assert row.price == float(angel.account.order(answer.order_id).price)


@pytest.mark.parametrize(
    ("bare", "exchange"), [("commodity_futures", "ncdex"), ("currency_futures", "nse"), ("equities", "nse")]
)
def test_a_trade_is_in_the_trade_book_the_position_and_on_the_order_socket(angel, bare, exchange):
    name = angel.listed(bare, exchange)
    wire, session = angel.open(order_feed)
    placed = angel.place(name, order_type="MARKET", price=None, product="MIS")
    order = angel.account.order(placed.order_id)
    assert order.filled_quantity == name.contract.lot_size
    for state in angel.account.order_history(placed.order_id):
        session.order_changed(state, None)
    decoder = order_feed.decoder(angel.access, ADDRESS, angel.listings())
    greeting, *events = [event for frame in wire.frames for event in decoder.receive(frame)]
    assert greeting == Heartbeat()
    assert all(isinstance(event, OrderUpdate) for event in events)
    assert (events[0].order.status, events[0].order.filled_quantity) == ("PENDING", 0)
    assert (events[-1].order.status, events[-1].order.filled_quantity) == ("COMPLETE", name.contract.lot_size)
    assert events[-1].order.average_price == float(order.average_price)
    trades = angel.trades(placed.order_id)
    assert {row.instrument_token for row in trades} == {f"{name.exchange}|{name.token}"}
    assert sum(row.quantity for row in trades) == name.contract.lot_size
    assert all(len(row.trade_timestamp) == 8 for row in trades)
    rows = [
        row
        for row in angel.positions()
        if row.instrument_token == f"{name.exchange}|{name.token}" and row.product == "MIS"
    ]
    for row in rows:
        assert (row.quantity, row.buy_quantity) == (name.contract.lot_size, name.contract.lot_size)
        assert row.buy_value == pytest.approx(float(order.filled_value))
        assert row.average_price == pytest.approx(float(order.average_price))
    assert [row.view for row in rows] == ["net", "day"]


def test_the_order_book_is_asked_for_the_tokens_of_trades_only_when_another_order_has_traded(angel):
    name = angel.listed("equities")
    angel.place(name, order_type="MARKET", price=None)
    versions = []
    for _ in range(2):
        flow = books.trade_requests(angel.access, angel.now)
        versions.append(flow.send(angel.send(next(flow))).version)
    angel.place(name, order_type="MARKET", price=None)
    flow = books.trade_requests(angel.access, angel.now)
    versions.append(flow.send(angel.send(next(flow))).version)
    assert versions[0] == versions[1] != versions[2]


def test_an_order_the_exchange_refuses_has_an_id_and_is_rejected_in_the_book(angel):
    name = angel.listed("equities")
    placed = angel.place(name, price=angel.account.market(name.contract.instrument_id).upper_circuit * 2)
    row = angel.book(placed.order_id)
    assert (placed.outcome, row.status, row.pending_quantity) == (Outcome.ACCEPTED, "REJECTED", 0)
    assert row.status_message


@every_case(
    ("change", "code"),
    [
        ({"variety": "TURBO"}, "AB1008"),
        ({"variety": "ROBO"}, "AB2002"),
        ({"variety": "STOPLOSS"}, "AB1008"),
        ({"producttype": "MARGIN"}, "AB1012"),
        ({"symboltoken": "1"}, "AB1009"),
        ({"tradingsymbol": "ANOTHER-EQ"}, "AB1009"),
        ({"exchange": None}, "AB1009"),
        ({"ordertag": "x" * 20}, "AB4008"),
        ({"quantity": "seven"}, ""),
        ({"quantity": "0"}, ""),
        ({"price": "NaN"}, ""),
        ({"price": []}, ""),
        ({"ordertype": "STOP"}, ""),
    ],
)
def test_a_body_smartapi_would_refuse_is_refused_in_a_200(angel, change, code):
    request = orders.place_request(angel.access, angel.ticket(angel.listed("equities")), angel.now)
    body = msgspec.json.encode(msgspec.json.decode(request.body) | change)
    response = angel.dialect.handle(angel.request("POST", request.url, request.headers, body))
    answer = orders.parse_order_answer(response)
    assert (response.status, answer.outcome, answer.broker_response["errorcode"]) == (200, Outcome.REJECTED, code)


def test_numbers_are_taken_for_texts(angel):
    request = orders.place_request(angel.access, angel.ticket(angel.listed("equities")), angel.now)
    body = msgspec.json.decode(request.body)
    body |= {"quantity": int(body["quantity"]), "price": float(body["price"]), "symboltoken": int(body["symboltoken"])}
    response = angel.dialect.handle(angel.request("POST", request.url, request.headers, msgspec.json.encode(body)))
    assert orders.parse_order_answer(response).outcome is Outcome.ACCEPTED


def test_one_order_is_found_by_its_unique_id(angel):
    placed = angel.place(angel.listed("equities"))
    unique = placed.broker_response["data"]["uniqueorderid"]
    assert angel.asked("GET", f"/order/v1/details/{unique}")["data"]["orderid"] == placed.order_id
    assert angel.asked("GET", "/order/v1/details/nobody")["errorcode"] == "AB1013"


def test_the_rate_limit_is_plain_text_with_403_and_the_generic_refusal_is_clear(angel):
    full = orders.parse_order_answer(angel.dialect.rate_limited())
    assert (full.outcome, full.rate_limited, full.session_dead) == (Outcome.REJECTED, True, False)
    assert orders.parse_order_answer(angel.dialect.refusal_in_200()).outcome is Outcome.REJECTED


def test_an_unknown_route_and_a_wrong_method_are_told_apart(angel):
    assert angel.call("GET", "/order/v1/nothing").status == 404
    assert angel.call("GET", "/order/v1/placeOrder").status == 405


# the account ----------------------------------------------------------------------------------------------------------
def test_positions_holdings_and_funds_are_the_exchanges_truth(angel):
    rows = {(row.instrument_token, row.product): row for row in angel.positions() if row.view == "net"}
    for held in angel.account.positions():
        name = name_of(angel.account.contract(held.instrument_id))
        row = rows[f"{name.exchange}|{name.token}", held.product.value]
        assert (row.quantity, row.overnight_quantity) == (held.quantity, held.overnight_quantity)
        assert row.last_price == float(angel.account.market(held.instrument_id).last_price)
        if held.overnight_quantity and held.quantity == held.overnight_quantity:
            assert row.average_price == pytest.approx(float(held.overnight_price))
    assert any(row.overnight_quantity < 0 for row in rows.values())
    holdings = portfolio.parse_holdings(angel.answers(portfolio.holding_requests(angel.access, START)))
    by_isin = {row.isin: row for row in holdings}
    for held in angel.account.holdings():
        row = by_isin[angel.account.contract(held.instrument_id).isin]
        assert (row.settled_quantity + row.t1_quantity, row.t1_quantity) == (held.total_quantity, held.t1_quantity)
        assert (row.collateral_quantity, row.average_price) == (held.collateral_quantity, float(held.average_price))
    funds = portfolio.parse_funds(angel.answers(portfolio.fund_requests(angel.access, START)))
    truth = angel.account.funds()
    assert funds.available_balance == pytest.approx(float(truth.available), abs=0.01)
    assert funds.cash_balance == pytest.approx(float(truth.opening_cash + truth.realized), abs=0.02)
    assert (funds.collateral_value, funds.realized) == (
        float(truth.collateral),
        pytest.approx(float(truth.realized), abs=0.01),
    )
    assert funds.margin_utilized == pytest.approx(float(truth.used), abs=0.01)


def test_an_account_without_orders_answers_null(angel):
    for order in angel.account.orders():
        assert order.status.finished
    empty = attrs.evolve(angel.access, login=None)
    assert empty.login is None
    answer = angel.asked("GET", "/order/v1/getOrderBook")
    assert answer["status"] is True


def test_prices_leave_with_the_digits_of_the_tick(angel):
    name = angel.listed("currency_futures")
    low = angel.account.market(name.contract.instrument_id).lower_circuit
    placed = angel.place(name, price=low + Decimal("0.0025"))
    assert placed.outcome is Outcome.ACCEPTED
    assert angel.account.order(placed.order_id).price == low + Decimal("0.0025")
