"""Dhan's server over the real exchange: orders, books and funds."""

from decimal import Decimal

import msgspec
import pytest

from onebroker.brokers.broker import OrderChange
from onebroker.brokers.dhan import books, order_feed, orders, portfolio
from onebroker.brokers.events import OrderUpdate
from onebroker.brokers.simulator.dialects.dhan.naming import name_of
from onebroker.config.vocabulary import Outcome
from tests.support.every_case import every_case


def test_an_order_is_placed_shown_changed_and_cancelled(dhan):
    name = dhan.listed("equities")
    placed = dhan.place(name, quantity=7)
    assert (placed.outcome, placed.broker_response["orderStatus"]) == (Outcome.ACCEPTED, "TRANSIT")
    row = dhan.row(placed.order_id)
    assert (row.status, row.quantity, row.tag, row.product) == ("OPEN", 7, "ob0123456789ab", "CNC")
    change = OrderChange(row=row, listing=dhan.listing(name), segment="nse_equities", quantity=9)
    changed = orders.parse_order_answer(dhan.send(orders.modify_request(dhan.access, change, dhan.now)))
    assert (changed.outcome, changed.order_id) == (Outcome.ACCEPTED, placed.order_id)
    cancelled = orders.parse_order_answer(dhan.send(orders.cancel_request(dhan.access, row, dhan.now)))
    assert (cancelled.outcome, cancelled.order_id) == (Outcome.ACCEPTED, placed.order_id)
    row = dhan.row(placed.order_id)
    assert (row.status, row.quantity, row.cancelled_quantity, row.price) == (
        "CANCELLED", 9, 9, float(dhan.ticket(name).price),
    )  # fmt: skip
    again = orders.parse_order_answer(dhan.send(orders.cancel_request(dhan.access, row, dhan.now)))
    assert again.outcome is Outcome.REJECTED


@pytest.mark.parametrize(
    ("order_type", "word"), [("SL", "STOP_LOSS"), ("SL-M", "STOP_LOSS_MARKET"), ("MARKET", "MARKET")]
)
def test_every_order_type_reaches_the_exchange_as_it_was_meant(dhan, order_type, word):
    name = dhan.listed("equities")
    market = dhan.account.market(name.contract.instrument_id)
    price = market.last_price + 20 * name.contract.tick_size
    terms = {
        "price": price if order_type == "SL" else None,
        "trigger_price": price if order_type.startswith("SL") else None,
    }
    placed = dhan.place(name, order_type=order_type, product="MIS", **terms)
    order = dhan.account.order(placed.order_id)
    assert (order.order_type, order.new.product, order.trigger_price) == (order_type, "MIS", terms["trigger_price"])
    row = dhan.row(placed.order_id)
    assert (row.order_type, row.product) == (order_type, "MIS")
    assert dhan.call("GET", f"/orders/{placed.order_id}")[1]["orderType"] == word


@pytest.mark.parametrize(("bare", "exchange"), [("commodity_futures", "mcx"), ("currency_futures", "nse")])
def test_lots_go_over_the_wire_as_lots_and_come_back_in_units(dhan, bare, exchange):
    name = dhan.listed(bare, exchange)
    request = orders.place_request(dhan.access, dhan.ticket(name, quantity=2 * name.units), dhan.now)
    assert msgspec.json.decode(request.body)["quantity"] == 2
    answer = orders.parse_order_answer(dhan.send(request))
    assert dhan.account.order(answer.order_id).quantity == 2 * name.units
    row = dhan.row(answer.order_id)
    assert (row.quantity, row.pending_quantity, row.contract_units) == (2 * name.units, 2 * name.units, name.units)


def test_a_trade_is_in_the_trade_book_the_position_and_on_the_order_stream(dhan):
    name = dhan.listed("commodity_futures", "mcx")
    wire, session, address = dhan.open(order_feed)
    placed = dhan.place(name, order_type="MARKET", price=None)
    order = dhan.account.order(placed.order_id)
    assert order.filled_quantity == name.units
    fill = next(fill for fill in dhan.account.fills() if fill.order_id == placed.order_id)
    for state in dhan.account.order_history(placed.order_id):
        session.order_changed(state, fill if state.filled_quantity else None)
    listings = dhan.listings()
    decoder = order_feed.decoder(dhan.access, address, listings)
    events = [event for frame in wire.frames for event in decoder.receive(frame)]
    assert all(isinstance(event, OrderUpdate) for event in events)
    assert (events[0].order.status, events[0].order.filled_quantity) == ("PENDING", 0)
    assert (events[-1].order.status, events[-1].order.filled_quantity) == ("COMPLETE", name.units)
    booked = dhan.row(placed.order_id)
    assert msgspec.structs.replace(events[-1].order, status_message=None) == booked
    trades = books.parse_trades(dhan.send_all(books.trade_requests(dhan.access, dhan.now)), listings)
    assert sum(each.quantity for each in trades if each.order_id == placed.order_id) == name.units
    rows = portfolio.parse_positions(dhan.send_all(portfolio.position_requests(dhan.access, dhan.now)), {})
    token = dhan.listing(name).broker_token
    day = next(row for row in rows if row.view == "day" and row.instrument_token == token)
    assert (day.quantity, day.buy_quantity) == (name.units, name.units)
    assert day.buy_value == pytest.approx(float(order.filled_value))
    assert day.average_price == pytest.approx(float(order.average_price))


def test_an_order_the_exchange_refuses_is_refused_in_the_answer_and_rejected_in_the_book(dhan):
    name = dhan.listed("equities")
    placed = dhan.place(name, price=dhan.account.market(name.contract.instrument_id).upper_circuit * 2)
    row = dhan.row(placed.order_id)
    assert (placed.outcome, row.status, row.pending_quantity) == (Outcome.REJECTED, "REJECTED", 0)
    assert row.status_message == placed.status_message


def test_refusals_are_in_dhans_words_and_clear(dhan):
    row = dhan.row(dhan.place(dhan.listed("equities")).order_id)
    unknown = msgspec.structs.replace(row, order_id="99")
    answer = orders.parse_order_answer(dhan.send(orders.cancel_request(dhan.access, unknown, dhan.now)))
    assert (answer.outcome, answer.broker_response["errorCode"]) == (Outcome.REJECTED, "DH-906")
    full = orders.parse_order_answer(dhan.dialect.rate_limited())
    assert (full.outcome, full.rate_limited) == (Outcome.REJECTED, True)
    assert orders.parse_order_answer(dhan.dialect.refusal_in_200()).outcome is Outcome.REJECTED


@every_case(
    "change",
    [
        {"orderType": "STOP"}, {"orderType": None}, {"validity": "GTC"}, {"productType": "MTF"}, {"quantity": 0},
        {"quantity": "many"}, {"quantity": 1.5}, {"quantity": True}, {"securityId": "nobody"}, {"exchangeSegment": "IDX_I"},
        {"correlationId": "x" * 31}, {"correlationId": "a/b"}, {"dhanClientId": "1"}, {"disclosedQuantity": 1, "quantity": 100},
        {"afterMarketOrder": True, "amoTime": "NOON"}, {"price": "NaN"}, {"price": 1e300},
    ],
)  # fmt: skip
def test_a_body_dhan_would_refuse_is_bad_input(dhan, change):
    request = orders.place_request(dhan.access, dhan.ticket(dhan.listed("equities")), dhan.now)
    before = dhan.account.orders()
    status, body = dhan.call("POST", "/orders", msgspec.json.decode(request.body) | change)
    assert (status, body["errorCode"]) == (400, "DH-905")
    assert dhan.account.orders() == before


def test_numbers_may_come_as_texts_and_absent_ones_as_empty_texts(dhan):
    """As the documents' own example writes them."""
    request = orders.place_request(dhan.access, dhan.ticket(dhan.listed("equities")), dhan.now)
    body = msgspec.json.decode(request.body)
    body |= {
        "quantity": "3",
        "disclosedQuantity": "",
        "triggerPrice": "",
        "boProfitValue": "",
        "price": str(body["price"]),
    }
    status, answer = dhan.call("POST", "/orders", body)
    assert status == 200
    assert dhan.account.order(answer["orderId"]).quantity == 3


def test_slicing_answers_a_list_with_an_order_for_each_part(dhan):
    name = dhan.listed("equity_index_options")
    lot, most = name.contract.lot_size, name.contract.freeze_quantity
    request = orders.place_request(dhan.access, dhan.ticket(name), dhan.now)
    body = msgspec.json.decode(request.body) | {"quantity": most + lot, "price": 0.05}
    _, answers = dhan.call("POST", "/orders/slicing", body)
    assert [dhan.account.order(each["orderId"]).quantity for each in answers] == [most, lot]


def test_an_order_is_found_by_its_tag(dhan):
    placed = dhan.place(dhan.listed("equities"))
    assert dhan.call("GET", "/orders/external/ob0123456789ab")[1]["orderId"] == placed.order_id
    assert dhan.call("GET", "/orders/external/nobody")[0] == 400


def test_trades_are_answered_with_and_without_the_slash(dhan):
    placed = dhan.place(dhan.listed("equities"), order_type="MARKET", price=None)
    _, rows = dhan.call("GET", "/trades")
    assert rows
    assert dhan.call("GET", "/trades/")[1] == rows
    own = [row for row in rows if row["orderId"] == placed.order_id]
    assert own
    assert dhan.call("GET", f"/trades/{placed.order_id}")[1] == own


def test_positions_holdings_and_funds_are_the_exchanges_truth(dhan):
    rows = portfolio.parse_positions(dhan.send_all(portfolio.position_requests(dhan.access, dhan.now)), {})
    net = {row.instrument_token: row for row in rows if row.view == "net"}
    for held in dhan.account.positions():
        row = net[dhan.listing(name_of(dhan.account.contract(held.instrument_id))).broker_token]
        assert (row.quantity, row.overnight_quantity) == (held.quantity, held.overnight_quantity)
        if held.quantity and not (held.day_buy_quantity or held.day_sell_quantity):
            assert row.average_price == pytest.approx(float(held.overnight_price))
    rows = portfolio.parse_holdings(dhan.send_all(portfolio.holding_requests(dhan.access, dhan.now)))
    by_isin = {row.isin: row for row in rows}
    for held in dhan.account.holdings():
        name = name_of(dhan.account.contract(held.instrument_id))
        row = by_isin[name.contract.isin]
        assert row.instrument_token == dhan.listing(name).broker_token
        assert row.settled_quantity + row.t1_quantity == held.total_quantity
        assert (row.t1_quantity, row.collateral_quantity) == (held.t1_quantity, held.collateral_quantity)
        assert row.average_price == float(held.average_price)
    funds = portfolio.parse_funds(dhan.send_all(portfolio.fund_requests(dhan.access, dhan.now)))
    truth = dhan.account.funds()
    assert funds.available_balance == float(truth.available)
    assert funds.collateral_value == float(truth.collateral)
    assert funds.margin_utilized == pytest.approx(float(truth.used - truth.realized))


def test_prices_leave_with_the_digits_of_the_tick(dhan):
    name = dhan.listed("currency_futures")
    lowest = dhan.account.market(name.contract.instrument_id).lower_circuit
    placed = dhan.place(name, price=lowest + Decimal("0.0025"))
    assert placed.outcome is Outcome.ACCEPTED
    assert dhan.account.order(placed.order_id).price == lowest + Decimal("0.0025")
