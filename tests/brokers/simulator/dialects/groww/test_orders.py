"""Groww's server over the real exchange: orders, books and funds."""

import msgspec
import pytest

from onebroker.brokers.broker import OrderChange
from onebroker.brokers.events import BooksMoved, Ready, Reply
from onebroker.brokers.groww import books, orders, portfolio
from onebroker.brokers.requests import BadAnswer, WireResponse
from onebroker.brokers.simulator.dialects.groww.naming import name_of
from onebroker.config.vocabulary import Outcome
from tests.brokers.simulator.dialects.groww.client import token
from tests.support.every_case import every_case


def test_an_order_is_placed_shown_changed_and_cancelled(groww):
    name = groww.listed("equities")
    ticket = groww.ticket(name, quantity=7)
    request = orders.place_request(groww.access, ticket, groww.now)
    placed = orders.parse_order_answer(groww.send(request))
    assert placed.outcome is Outcome.ACCEPTED
    assert groww.account.order(placed.order_id).quantity == 7
    row = groww.row(placed.order_id)
    assert (row.status, row.quantity, row.tag, row.product) == ("OPEN", 7, ticket.token, "CNC")
    assert (row.instrument_token, row.order_timestamp[-6:]) == (token(name), "+05:30")
    change = OrderChange(row=row, listing=groww.listing(name), segment="nse_equities", quantity=9)
    changed = orders.parse_order_answer(groww.send(orders.modify_request(groww.access, change, groww.now)))
    assert changed.outcome is Outcome.ACCEPTED
    assert (groww.account.order(row.order_id).quantity, groww.account.order(row.order_id).price) == (9, ticket.price)
    cancelled = orders.parse_order_answer(groww.send(orders.cancel_request(groww.access, row, groww.now)))
    assert (cancelled.outcome, cancelled.order_id) == (Outcome.ACCEPTED, placed.order_id)
    row = groww.row(placed.order_id)
    assert (row.status, row.cancelled_quantity, row.price) == ("CANCELLED", 9, float(ticket.price))
    again = orders.parse_order_answer(groww.send(orders.cancel_request(groww.access, row, groww.now)))
    assert again.outcome is Outcome.REJECTED
    # The same reference again says that the order is in, not that it is not.
    twice = orders.parse_order_answer(groww.send(request))
    assert (twice.outcome, twice.broker_response["error"]["code"]) == (Outcome.UNKNOWN, "GA007")


@pytest.mark.parametrize(
    ("order_type", "word"), [("MARKET", "MARKET"), ("LIMIT", "LIMIT"), ("SL", "SL"), ("SL-M", "SL_M")]
)
def test_every_order_type_reaches_the_exchange(groww, order_type, word):
    name = groww.listed("equities")
    market = groww.account.market(name.contract.instrument_id)
    trigger = market.last_price - 20 * name.contract.tick_size
    prices = {"price": trigger - name.contract.tick_size, "trigger_price": trigger}
    sent = {
        "price": prices["price"] if order_type in ("LIMIT", "SL") else None,
        "trigger_price": prices["trigger_price"] if order_type in ("SL", "SL-M") else None,
    }
    placed = groww.place(name, order_type=order_type, transaction_type="SELL", product="MIS", **sent)
    order = groww.account.order(placed.order_id)
    assert (order.order_type.value, order.price, order.trigger_price) == (order_type, *sent.values())
    assert groww.get(f"/order/detail/{placed.order_id}", segment="CASH")[1]["payload"]["order_type"] == word
    assert groww.row(placed.order_id).order_type == order_type


def test_a_trade_is_in_the_trade_book_the_position_and_announced_on_the_stream(groww):
    name = groww.listed("equity_index_futures")
    line = groww.open()
    assert [type(each) for each in line.events()] == [Reply, Reply, Ready]
    placed = groww.place(name, order_type="MARKET", price=None)
    order = groww.account.order(placed.order_id)
    assert order.filled_quantity == name.contract.lot_size
    fill = next(fill for fill in groww.account.fills() if fill.order_id == placed.order_id)
    line.session.order_changed(order, fill)
    assert line.events() == [BooksMoved(), BooksMoved()]
    traded = [each for each in groww.trades() if each.order_id == placed.order_id]
    assert sum(each.quantity for each in traded) == order.filled_quantity
    assert {each.instrument_token for each in traded} == {token(name)}
    rows = portfolio.parse_positions(groww.answers(portfolio.position_requests(groww.access, groww.now)), {})
    day = next(row for row in rows if row.view == "day" and row.instrument_token == token(name))
    assert (day.quantity, day.buy_quantity) == (order.filled_quantity, order.filled_quantity)
    assert day.buy_value == pytest.approx(float(order.filled_value))


def test_a_long_book_is_read_page_by_page_and_no_order_is_lost_or_doubled(groww):
    name = groww.listed("equities")
    for number in range(130):
        groww.place(name, token=f"obpage{number:06d}")
    answers = groww.answers(books.order_requests(groww.access, groww.now))
    rows = books.parse_orders(answers, {})
    assert sorted(row.order_id for row in rows) == sorted(order.order_id for order in groww.account.orders())
    assert len(answers) > 3


def test_trades_are_asked_again_only_for_orders_that_filled_more(groww):
    name = groww.listed("equities")
    groww.place(name, order_type="MARKET", price=None, quantity=3)
    seen = groww.requests(books.trade_requests(groww.access, groww.now))
    versions = {request.url.split("/trades/")[1][:19]: request.version for request in seen if request.version}
    assert set(versions.values()) >= {"3"}
    assert len(versions) == sum(bool(order.filled_quantity) for order in groww.account.orders())


def test_a_trade_book_with_a_hole_is_no_trade_book(groww):
    groww.place(groww.listed("equities"), order_type="MARKET", price=None, quantity=3)
    answers = groww.answers(books.trade_requests(groww.access, groww.now))
    emptied = WireResponse(status=200, body=b'{"status":"SUCCESS","payload":{"trade_list":[]}}')
    place = next(n for n, answer in enumerate(answers) if b'"groww_trade_id"' in answer.body)
    with pytest.raises(BadAnswer, match="fewer than what it filled"):
        books.parse_trades([*answers[:place], emptied, *answers[place + 1 :]], {})


def test_positions_holdings_and_funds_are_the_exchanges_truth(groww):
    rows = portfolio.parse_positions(groww.answers(portfolio.position_requests(groww.access, groww.now)), {})
    net = {row.instrument_token: row for row in rows if row.view == "net"}
    assert any(held.quantity < 0 for held in groww.account.positions())
    for held in groww.account.positions():
        row = net[token(name_of(groww.account.contract(held.instrument_id)))]
        assert (row.quantity, row.overnight_quantity) == (held.quantity, held.overnight_quantity)
        assert (row.buy_quantity - row.sell_quantity, row.last_price) == (held.quantity, None)
    rows = portfolio.parse_holdings(groww.answers(portfolio.holding_requests(groww.access, groww.now)))
    by_isin = {row.isin: row for row in rows}
    for held in groww.account.holdings():
        row = by_isin[groww.account.contract(held.instrument_id).isin]
        assert row.settled_quantity + row.t1_quantity == held.total_quantity
        assert (row.collateral_quantity, row.average_price) == (held.collateral_quantity, float(held.average_price))
    funds = portfolio.parse_funds(groww.answers(portfolio.fund_requests(groww.access, groww.now)))
    truth = groww.account.funds()
    assert (funds.available_balance, funds.collateral_value) == (float(truth.available), float(truth.collateral))
    assert (funds.span_margin, funds.exposure_margin) == (float(truth.span), float(truth.exposure))
    assert funds.margin_utilized == float(truth.used)


def test_an_order_the_exchange_refuses_has_an_id_and_is_rejected_in_the_book(groww):
    name = groww.listed("equities")
    placed = groww.place(name, price=groww.account.market(name.contract.instrument_id).upper_circuit * 2)
    row = groww.row(placed.order_id)
    assert (placed.outcome, row.status, row.pending_quantity) == (Outcome.ACCEPTED, "REJECTED", 0)
    assert placed.status_message == row.status_message != ""


def test_refusals_are_in_growws_words_and_clear(groww):
    full = orders.parse_order_answer(groww.dialect.rate_limited())
    assert (full.outcome, full.rate_limited) == (Outcome.REJECTED, True)
    assert orders.parse_order_answer(groww.dialect.refusal_in_200()).outcome is Outcome.REJECTED
    placed = groww.place(groww.listed("equities"))
    row = groww.row(placed.order_id)
    elsewhere = msgspec.structs.replace(row, instrument_token="NSE:FNO:X")
    answer = orders.parse_order_answer(groww.send(orders.cancel_request(groww.access, elsewhere, groww.now)))
    assert (answer.outcome, answer.broker_response["error"]["code"]) == (Outcome.REJECTED, "GA004")


@every_case(
    "change",
    [
        {"order_type": "STOP"}, {"order_type": None}, {"validity": "GTX"}, {"quantity": "7"}, {"quantity": 0},
        {"price": -1}, {"trading_symbol": "NOBODY"}, {"segment": "X"}, {"order_reference_id": "short"},
        {"order_reference_id": None}, {"transaction_type": "B"}, {"product": "X"},
    ],
)  # fmt: skip
def test_a_body_groww_would_refuse_is_refused(groww, change):
    request = orders.place_request(groww.access, groww.ticket(groww.listed("equities")), groww.now)
    body = msgspec.json.encode(msgspec.json.decode(request.body) | change)
    answer = groww.dialect.handle(groww.request("POST", request.url, request.headers, body))
    assert (answer.status, msgspec.json.decode(answer.body)["error"]["code"]) == (400, "GA001")


def test_the_two_lookups_of_one_order_find_it(groww):
    ticket = groww.ticket(groww.listed("equities"))
    placed = orders.parse_order_answer(groww.send(orders.place_request(groww.access, ticket, groww.now)))
    for path in (f"/order/status/{placed.order_id}", f"/order/status/reference/{ticket.token}"):
        _, answer = groww.get(path, segment="CASH")
        assert (answer["payload"]["groww_order_id"], answer["payload"]["order_status"]) == (placed.order_id, "OPEN")
    assert groww.get("/order/status/reference/nobodyatall", segment="CASH")[0] == 404
