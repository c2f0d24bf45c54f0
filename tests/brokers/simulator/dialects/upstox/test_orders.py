"""Upstox' server over the real exchange: orders, books and funds."""

from decimal import Decimal

import msgspec
import pytest

from onebroker.brokers.broker import OrderChange
from onebroker.brokers.events import OrderUpdate
from onebroker.brokers.requests import BrokerRefusal
from onebroker.brokers.simulator.dialects.upstox.naming import name_of
from onebroker.brokers.upstox import books, margins, order_feed, orders, portfolio
from onebroker.config.vocabulary import Outcome
from tests.brokers.simulator.dialects.upstox.client import ACCESS, ADDRESS, NOW, order_row
from tests.support.every_case import every_case


def test_an_order_is_placed_shown_changed_and_cancelled(upstox):
    name = upstox.listed("equities")
    placed = upstox.place(name, quantity=7)
    assert placed.outcome is Outcome.ACCEPTED
    assert "latency" in placed.broker_response["metadata"]
    row = next(row for row in upstox.book() if row.order_id == placed.order_id)
    assert (row.status, row.quantity, row.tag, row.product) == ("OPEN", 7, "ob0123456789ab", "CNC")
    change = OrderChange(row=row, listing=upstox.listing(name), segment="nse_equities", quantity=9)
    changed = orders.parse_order_answer(upstox.send(orders.modify_request(upstox.access, change, upstox.now)))
    assert changed.outcome is Outcome.ACCEPTED
    cancelled = orders.parse_order_answer(upstox.send(orders.cancel_request(upstox.access, row, upstox.now)))
    assert (cancelled.outcome, cancelled.order_id) == (Outcome.ACCEPTED, placed.order_id)
    row = next(row for row in upstox.book() if row.order_id == placed.order_id)
    assert (row.status, row.quantity, row.cancelled_quantity, row.price) == (
        "CANCELLED",
        9,
        9,
        float(upstox.ticket(name).price),
    )
    again = orders.parse_order_answer(upstox.send(orders.cancel_request(upstox.access, row, upstox.now)))
    assert again.outcome is Outcome.REJECTED


@pytest.mark.parametrize(("bare", "exchange"), [("commodity_futures", "mcx"), ("currency_futures", "nse")])
def test_contracts_go_over_the_wire_as_contracts_and_come_back_in_units(upstox, bare, exchange):
    name = upstox.listed(bare, exchange)
    request = orders.place_request(upstox.access, upstox.ticket(name, quantity=2 * name.units), upstox.now)
    assert msgspec.json.decode(request.body)["quantity"] == 2
    answer = orders.parse_order_answer(upstox.send(request))
    assert upstox.account.order(answer.order_id).quantity == 2 * name.units
    row = next(row for row in upstox.book() if row.order_id == answer.order_id)
    assert (row.quantity, row.pending_quantity, row.contract_units) == (2 * name.units, 2 * name.units, name.units)


def test_a_trade_is_in_the_trade_book_the_position_and_on_the_portfolio_stream(upstox):
    name = upstox.listed("commodity_futures", "mcx")
    wire, session = upstox.open(order_feed.address(upstox.access, upstox.now))
    placed = upstox.place(name, order_type="MARKET", price=None)
    order = upstox.account.order(placed.order_id)
    assert order.filled_quantity == name.units
    for state in upstox.account.order_history(placed.order_id):
        session.order_changed(state, None)
    listings = upstox.listings()
    events = [event for frame in wire.frames for event in order_feed.decoder(ACCESS, ADDRESS, listings).receive(frame)]
    assert all(isinstance(event, OrderUpdate) for event in events)
    assert (events[0].order.status, events[0].order.filled_quantity) == ("PENDING", 0)
    assert (events[-1].order.status, events[-1].order.filled_quantity) == ("COMPLETE", name.units)
    trades = books.parse_trades(upstox.send_all(books.trade_requests(upstox.access, NOW)), listings)
    assert sum(each.quantity for each in trades if each.order_id == placed.order_id) == name.units
    rows = portfolio.parse_positions(upstox.send_all(portfolio.position_requests(upstox.access, NOW)), {})
    day = next(row for row in rows if row.view == "day" and row.instrument_token == name.key)
    assert (day.quantity, day.buy_quantity) == (name.units, name.units)
    assert day.buy_value == pytest.approx(float(order.filled_value))


def test_positions_holdings_and_funds_are_the_exchanges_truth(upstox):
    positions = portfolio.parse_positions(upstox.send_all(portfolio.position_requests(upstox.access, NOW)), {})
    net = {row.instrument_token: row for row in positions if row.view == "net"}
    for held in upstox.account.positions():
        row = net[name_of(upstox.account.contract(held.instrument_id)).key]
        assert (row.quantity, row.overnight_quantity) == (held.quantity, held.overnight_quantity)
    rows = portfolio.parse_holdings(upstox.send_all(portfolio.holding_requests(upstox.access, NOW)))
    by_isin = {row.isin: row for row in rows}
    for held in upstox.account.holdings():
        row = by_isin[upstox.account.contract(held.instrument_id).isin]
        assert row.settled_quantity + row.t1_quantity == held.total_quantity
        assert (row.collateral_quantity, row.average_price) == (held.collateral_quantity, float(held.average_price))
    funds, truth = (
        portfolio.parse_funds(upstox.send_all(portfolio.fund_requests(upstox.access, NOW))),
        upstox.account.funds(),
    )
    assert funds.available_balance == float(truth.available)
    assert funds.collateral_value == float(truth.collateral)
    assert funds.realized == float(truth.realized)
    assert funds.span_margin == float(truth.span + truth.exposure)


def test_refusals_are_in_upstox_words_and_clear(upstox):
    unknown = orders.parse_order_answer(upstox.send(orders.cancel_request(upstox.access, order_row("99"), upstox.now)))
    assert (unknown.outcome, unknown.broker_response["errors"][0]["errorCode"]) == (Outcome.REJECTED, "UDAPI100010")
    full = orders.parse_order_answer(upstox.dialect.rate_limited())
    assert (full.outcome, full.rate_limited) == (Outcome.REJECTED, True)
    assert orders.parse_order_answer(upstox.dialect.refusal_in_200()).outcome is Outcome.REJECTED


@every_case(
    ("change", "code"),
    [
        ({"order_type": "STOP"}, "UDAPI1056"),
        ({"order_type": None}, "UDAPI1004"),
        ({"validity": "GTC"}, "UDAPI1055"),
        ({"validity": ""}, "UDAPI1007"),
        ({"order_type": "MARKET", "market_protection": 0}, "UDAPI1158"),
        ({"instrument_token": "NSE_EQ|nobody"}, "UDAPI100011"),
        ({"quantity": "7"}, "UDAPI1052"),
        ({"tag": "x" * 41}, "UDAPI100036"),
    ],
)
def test_a_body_upstox_would_refuse_is_refused_with_its_code(upstox, change, code):
    request = orders.place_request(upstox.access, upstox.ticket(upstox.listed("equities")), upstox.now)
    body = msgspec.json.encode(msgspec.json.decode(request.body) | change)
    answer = upstox.dialect.handle(upstox.request("POST", request.url, request.headers, body))
    assert (answer.status, msgspec.json.decode(answer.body)["errors"][0]["errorCode"]) == (400, code)


def test_an_order_the_exchange_refuses_has_an_id_and_is_rejected_in_the_book(upstox):
    name = upstox.listed("equities")
    placed = upstox.place(name, price=upstox.account.market(name.contract.instrument_id).upper_circuit * 2)
    row = next(row for row in upstox.book() if row.order_id == placed.order_id)
    assert (placed.outcome, row.status, row.pending_quantity) == (Outcome.ACCEPTED, "REJECTED", 0)
    assert row.status_message


def test_slicing_answers_one_order_id_for_each_part(upstox):
    name = upstox.listed("equity_index_options")
    lot, most = name.contract.lot_size, name.contract.freeze_quantity
    request = orders.place_request(upstox.access, upstox.ticket(name), upstox.now)
    body = msgspec.json.decode(request.body) | {"slice": True, "quantity": most + lot, "price": 0.05}
    answer = upstox.dialect.handle(upstox.request("POST", request.url, request.headers, msgspec.json.encode(body)))
    ids = msgspec.json.decode(answer.body)["data"]["order_ids"]
    assert [upstox.account.order(each).quantity for each in ids] == [most, lot]


def test_history_begins_with_the_order_received_and_is_found_by_tag(upstox):
    placed = upstox.place(upstox.listed("equities"))
    _, by_id = upstox.get("/v2/order/history", order_id=placed.order_id)
    assert by_id["data"][0]["status"] == "put order req received"
    assert by_id["data"][-1]["status"] == "open"
    assert upstox.get("/v2/order/history", tag="ob0123456789ab")[1]["data"] == by_id["data"]
    assert upstox.get("/v2/order/details", order_id=placed.order_id)[1]["data"]["order_id"] == placed.order_id
    assert upstox.get("/v2/order/history", tag="nobody")[0] == 404


def test_a_margin_is_refused_in_the_codes_of_its_page(upstox):
    future = upstox.listed("equity_index_futures")
    request = margins.margin_request(upstox.access, upstox.ticket(future, quantity=1), Decimal(100), upstox.now)
    with pytest.raises(BrokerRefusal, match="multiple of lot size") as refused:
        margins.parse_margin(upstox.send(request))
    assert refused.value.code == "UDAPI1104"
    sent = msgspec.json.decode(request.body)["instruments"][0]
    for count, code in ((0, "UDAPI100036"), (2, "UDAPI1103"), (21, "UDAPI1102")):
        body = msgspec.json.encode({"instruments": [sent] * count})
        answer = upstox.dialect.handle(upstox.request("POST", request.url, request.headers, body))
        assert (answer.status, msgspec.json.decode(answer.body)["errors"][0]["errorCode"]) == (400, code)


def test_prices_leave_with_the_digits_of_the_tick(upstox):
    name = upstox.listed("currency_futures")
    placed = upstox.place(
        name, price=upstox.account.market(name.contract.instrument_id).lower_circuit + Decimal("0.0025")
    )
    assert placed.outcome is Outcome.ACCEPTED
    assert upstox.account.order(placed.order_id).price % Decimal("0.0025") == 0
