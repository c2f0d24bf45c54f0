"""Fyers' server over the real exchange: orders, books and funds."""

from decimal import Decimal

import msgspec
import pytest

from onebroker.brokers.events import BooksMoved, Heartbeat, OrderUpdate, TradeUpdate
from onebroker.brokers.fyers import books, order_feed, orders, portfolio
from onebroker.brokers.simulator.dialects.fyers.naming import name_of
from onebroker.config.vocabulary import Outcome
from tests.brokers.simulator.dialects.fyers.client import ADDRESS
from tests.support.dialect_client import START
from tests.support.every_case import every_case


def test_an_order_is_placed_shown_changed_and_cancelled(fyers):
    name = fyers.listed("equities")
    placed = fyers.place(name, quantity=7)
    assert placed.outcome is Outcome.ACCEPTED
    assert placed.broker_response["code"] == 1101
    row = fyers.row(placed.order_id)
    assert (row.status, row.quantity, row.tag, row.product) == ("OPEN", 7, "ob0123456789ab", "CNC")
    price = fyers.ticket(name).price + name.contract.tick_size
    assert fyers.modify(row, name, quantity=9, price=price).outcome is Outcome.ACCEPTED
    truth = fyers.account.order(placed.order_id)
    assert (truth.quantity, truth.price) == (9, price)
    cancelled = fyers.cancel(row)
    assert (cancelled.outcome, cancelled.order_id) == (Outcome.ACCEPTED, placed.order_id)
    row = fyers.row(placed.order_id)
    assert (row.status, row.quantity, row.cancelled_quantity, row.price) == ("CANCELLED", 9, 9, float(price))
    assert row.order_timestamp == START.isoformat()
    assert fyers.cancel(row).outcome is Outcome.REJECTED


def test_a_stop_waits_for_its_trigger_and_can_become_a_limit_order(fyers):
    name = fyers.listed("equities")
    tick, market = name.contract.tick_size, fyers.account.market(name.contract.instrument_id)
    high = market.upper_circuit - 2 * tick
    placed = fyers.place(name, order_type="SL", trigger_price=high, price=high + tick)
    row = fyers.row(placed.order_id)
    assert (row.order_type, row.status, row.trigger_price) == ("SL", "PENDING", float(high))
    low = fyers.ticket(name).price
    assert fyers.modify(row, name, order_type="LIMIT", price=low).outcome is Outcome.ACCEPTED
    row = fyers.row(placed.order_id)
    assert (row.order_type, row.status, row.price) == ("LIMIT", "OPEN", float(low))


@pytest.mark.parametrize(("bare", "exchange"), [("commodity_futures", "mcx"), ("currency_futures", "nse")])
def test_contracts_go_over_the_wire_as_lots_and_come_back_in_units(fyers, bare, exchange):
    name = fyers.listed(bare, exchange)
    request = orders.place_request(fyers.access, fyers.ticket(name, quantity=2 * name.units), fyers.now)
    assert msgspec.json.decode(request.body)["qty"] == 2
    answer = orders.parse_order_answer(fyers.send(request))
    assert fyers.account.order(answer.order_id).quantity == 2 * name.units
    row = fyers.row(answer.order_id)
    assert (row.quantity, row.pending_quantity, row.contract_units) == (2 * name.units, 2 * name.units, name.units)


def test_a_trade_is_in_the_trade_book_the_position_and_on_the_order_socket(fyers):
    name = fyers.listed("commodity_futures", "mcx")
    wire, session = fyers.open(order_feed.address(fyers.access, fyers.now))
    for message in order_feed.opening_messages(fyers.access):
        session.received(message)
    placed = fyers.place(name, order_type="MARKET", price=None)
    order = fyers.account.order(placed.order_id)
    fills = [fill for fill in fyers.account.fills() if fill.order_id == placed.order_id]
    assert order.filled_quantity == name.units == sum(fill.quantity for fill in fills)
    for state in fyers.account.order_history(placed.order_id):
        session.order_changed(state, fills[-1] if state.filled_quantity else None)
    listings = fyers.listings()
    decoder = order_feed.decoder(fyers.access, ADDRESS, listings)
    events = [event for frame in wire.frames for event in decoder.receive(frame)]
    assert events[0] == Heartbeat()
    updates = [event.order for event in events if isinstance(event, OrderUpdate)]
    assert (updates[-1].status, updates[-1].filled_quantity) == ("COMPLETE", name.units)
    assert updates[-1].average_price == float(order.average_price)
    assert updates[-1] == fyers.row(placed.order_id)
    told = [event.trade for event in events if isinstance(event, TradeUpdate)]
    trades = books.parse_trades(fyers.send_all(books.trade_requests(fyers.access, fyers.now)), listings)
    mine = [trade for trade in trades if trade.order_id == placed.order_id]
    assert told[-1] == mine[-1]
    assert sum(trade.quantity for trade in mine) == name.units
    assert any(isinstance(event, BooksMoved) for event in events)  # the position
    rows = portfolio.parse_positions(fyers.send_all(portfolio.position_requests(fyers.access, fyers.now)), {})
    day = next(row for row in rows if row.view == "day" and row.instrument_token == fyers.token(name))
    assert (day.quantity, day.buy_quantity, day.multiplier) == (name.units, name.units, name.units)
    assert day.buy_value == pytest.approx(float(order.filled_value))


def test_an_order_seen_first_on_the_socket_is_the_order_the_book_shows(fyers):
    name = fyers.listed("equities")
    wire, session = fyers.open(order_feed.address(fyers.access, fyers.now))
    for message in order_feed.opening_messages(fyers.access):
        session.received(message)
    placed = fyers.place(name)
    fyers.cancel(fyers.row(placed.order_id))
    for state in fyers.account.order_history(placed.order_id):
        session.order_changed(state, None)
    decoder = order_feed.decoder(fyers.access, ADDRESS, fyers.listings())
    updates = [event for frame in wire.frames[1:] for event in decoder.receive(frame)]
    assert [event.order.status for event in updates] == ["OPEN", "CANCELLED"]
    assert updates[-1].order == fyers.row(placed.order_id)


def test_positions_holdings_and_funds_are_the_exchanges_truth(fyers):
    positions = portfolio.parse_positions(
        fyers.send_all(portfolio.position_requests(fyers.access, fyers.now)), fyers.listings()
    )
    net = {row.instrument_token: row for row in positions if row.view == "net"}
    for held in fyers.account.positions():
        row = net[fyers.token(name_of(fyers.account.contract(held.instrument_id)))]
        assert (row.quantity, row.overnight_quantity) == (held.quantity, held.overnight_quantity)
        if held.overnight_quantity > 0:
            assert row.average_price in (None, pytest.approx(float(held.overnight_price)))
    rows = portfolio.parse_holdings(fyers.send_all(portfolio.holding_requests(fyers.access, fyers.now)))
    for held in fyers.account.holdings():
        mine = [row for row in rows if row.isin == fyers.account.contract(held.instrument_id).isin]
        assert sum(row.settled_quantity for row in mine) == held.settled_quantity + held.collateral_quantity
        assert sum(row.t1_quantity for row in mine) == held.t1_quantity
        assert sum(row.collateral_quantity for row in mine) == held.collateral_quantity
        assert {row.average_price for row in mine} == {float(held.average_price)}
        assert {row.instrument_token for row in mine} == {
            fyers.token(name_of(fyers.account.contract(held.instrument_id)))
        }
    funds = portfolio.parse_funds(fyers.send_all(portfolio.fund_requests(fyers.access, fyers.now)))
    truth = fyers.account.funds()
    assert funds.available_balance == pytest.approx(float(truth.available))
    assert funds.collateral_value == float(truth.collateral)
    assert funds.margin_utilized == pytest.approx(float(truth.used))
    assert funds.pools == {"equity": float(truth.available), "commodity": 0.0}


def test_refusals_are_in_fyers_words_and_clear(fyers):
    row = msgspec.structs.replace(fyers.row(fyers.place(fyers.listed("equities")).order_id), order_id="99")
    unknown = fyers.cancel(row)
    assert (unknown.outcome, unknown.broker_response["code"]) == (Outcome.REJECTED, -51)
    full = orders.parse_order_answer(fyers.dialect.rate_limited())
    assert (full.outcome, full.rate_limited) == (Outcome.REJECTED, True)
    assert orders.parse_order_answer(fyers.dialect.refusal_in_200()).outcome is Outcome.REJECTED


@every_case(
    ("change", "code"),
    [
        ({"symbol": "NSE:NOBODY-EQ"}, -300), ({"symbol": 7}, -300), ({"type": 9}, -50), ({"type": None}, -50),
        ({"type": True}, -50), ({"side": 0}, -50), ({"productType": "MTF"}, -50), ({"validity": "GTC"}, -50),
        ({"qty": "7"}, -50), ({"qty": -1}, -50), ({"qty": 0}, -50), ({"limitPrice": "high"}, -50),
        ({"orderTag": "x" * 31}, -50), ({"orderTag": "a b"}, -50),
    ],
)  # fmt: skip
def test_a_body_fyers_would_refuse_is_refused_with_its_code(fyers, change, code):
    request = orders.place_request(fyers.access, fyers.ticket(fyers.listed("equities")), fyers.now)
    status, answer = fyers.post("/api/v3/orders/sync", msgspec.json.decode(request.body) | change)
    assert (status, answer["s"], answer["code"]) == (400, "error", code)


def test_an_order_the_exchange_refuses_has_an_id_and_is_rejected_in_the_book(fyers):
    name = fyers.listed("equities")
    placed = fyers.place(name, price=fyers.account.market(name.contract.instrument_id).upper_circuit * 2)
    row = fyers.row(placed.order_id)
    assert (placed.outcome, row.status, row.pending_quantity) == (Outcome.ACCEPTED, "REJECTED", 0)
    assert row.status_message


def test_the_book_can_be_asked_for_an_id_or_a_tag(fyers):
    placed = fyers.place(fyers.listed("equities"))
    for query in ({"id": placed.order_id}, {"order_tag": "1:ob0123456789ab"}, {"order_tag": "ob0123456789ab"}):
        assert [row["id"] for row in fyers.get("/api/v3/orders", **query)[1]["orderBook"]] == [placed.order_id]
    assert fyers.get("/api/v3/orders", id="99")[1]["orderBook"] == []


def test_prices_leave_with_the_digits_of_the_tick(fyers):
    name = fyers.listed("currency_futures")
    placed = fyers.place(
        name, price=fyers.account.market(name.contract.instrument_id).lower_circuit + Decimal("0.0025")
    )
    assert placed.outcome is Outcome.ACCEPTED
    assert fyers.account.order(placed.order_id).price % Decimal("0.0025") == 0


def test_what_orders_need_is_told_by_themselves_and_with_what_is_used(fyers):
    """The official SDK has no method for it."""
    name = fyers.listed("commodity_futures", "mcx")
    order = {
        "symbol": name.ticker, "qty": 1, "side": -1, "type": 2, "productType": "MARGIN", "limitPrice": 0.0, "stopLoss": 0.0,
        "stopPrice": 0.0, "takeProfit": 0.0,
    }  # fmt: skip
    status, answer = fyers.post("/api/v3/multiorder/margin", {"data": [order]})
    told = answer["data"]
    assert (status, answer["s"]) == (200, "ok")
    funds = fyers.account.funds()
    assert told["margin_new_order"] - told["margin_total"] == pytest.approx(float(funds.used))
    _, two = fyers.post("/api/v3/multiorder/margin", {"data": [order, order]})
    assert two["data"]["margin_total"] == pytest.approx(2 * told["margin_total"]) != 0


@pytest.mark.parametrize(
    ("body", "code"),
    [({}, -50), ({"data": []}, -50), ({"data": [1]}, -50), ({"data": [{"symbol": "NSE:NOBODY-EQ"}]}, -300)],
)
def test_a_margin_call_that_cannot_be_is_refused(fyers, body, code):
    status, answer = fyers.post("/api/v3/multiorder/margin", body)
    assert (status, answer["s"], answer["code"]) == (400, "error", code)
