"""Kotak Neo's server over the real exchange: orders, books and funds."""

from decimal import Decimal

import msgspec
import pytest

from onebroker.brokers.broker import OrderChange
from onebroker.brokers.kotakneo import books, margins, orders, portfolio
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.kotakneo import envelope
from onebroker.config.vocabulary import Outcome
from tests.support.dialect_client import BASE

TAG = "ob0123456789ab"


def test_an_order_is_placed_shown_changed_and_cancelled(neo):
    name = neo.listed("equities")
    placed = neo.place(name, quantity=7, disclosed_quantity=1)
    assert placed.outcome is Outcome.ACCEPTED
    row = neo.row(placed.order_id)
    assert (row.status, row.quantity, row.disclosed_quantity, row.tag, row.product) == ("OPEN", 7, 1, TAG, "CNC")
    assert (row.order_type, row.validity, row.instrument_token, row.exchange) == ("LIMIT", "DAY", name.key, "nse_cm")
    assert row.order_timestamp == "2026-11-23T10:00:00+05:30"
    price = Decimal(repr(row.price)) + name.contract.tick_size
    change = OrderChange(row=row, listing=neo.listing(name), segment="nse_equities", quantity=9, price=price)
    changed = orders.parse_order_answer(neo.send(orders.modify_request(neo.access, change, neo.now)))
    assert (changed.outcome, changed.order_id) == (Outcome.ACCEPTED, placed.order_id)
    order = neo.account.order(placed.order_id)
    assert (order.quantity, order.price, order.disclosed_quantity) == (9, price, 1)
    row = neo.row(placed.order_id)
    cancelled = orders.parse_order_answer(neo.send(orders.cancel_request(neo.access, row, neo.now)))
    assert cancelled.outcome is Outcome.ACCEPTED
    row = neo.row(placed.order_id)
    assert (row.status, row.pending_quantity, row.cancelled_quantity) == ("CANCELLED", 0, 9)
    again = orders.parse_order_answer(neo.send(orders.cancel_request(neo.access, row, neo.now)))
    assert again.outcome is Outcome.REJECTED


def test_a_market_order_fills_and_its_trades_are_named_by_their_order(neo):
    name = neo.listed("equities")
    placed = neo.place(name, order_type="MARKET", price=None, quantity=3)
    row = neo.row(placed.order_id)
    truth = neo.account.order(placed.order_id)
    assert (row.status, row.order_type, row.filled_quantity) == ("COMPLETE", "MARKET", 3)
    assert row.average_price == pytest.approx(float(truth.average_price), abs=0.005)
    trades = books.parse_trades(neo.answers(books.trade_requests(neo.access, neo.now)), neo.listings())
    mine = [trade for trade in trades if trade.order_id == placed.order_id]
    fills = [fill for fill in neo.account.fills() if fill.order_id == placed.order_id]
    assert [(trade.quantity, trade.price, trade.instrument_token) for trade in mine] == [
        (fill.quantity, float(fill.price), name.key) for fill in fills
    ]
    assert mine[0].trade_timestamp == "23-Nov-2026 10:00:00"


@pytest.mark.parametrize(
    ("bare", "exchange"),
    [
        ("equities", "bse"),
        ("equity_index_futures", "nse"),
        ("equity_index_options", "bse"),
        ("commodity_futures", "mcx"),
    ],
)
def test_every_segment_is_traded_in_units(neo, bare, exchange):
    name = neo.listed(bare, exchange)
    placed = neo.place(name)
    assert placed.outcome is Outcome.ACCEPTED, placed
    assert neo.account.order(placed.order_id).quantity == name.contract.lot_size
    assert neo.row(placed.order_id).quantity == name.contract.lot_size


def test_a_stop_waits_as_pending_and_an_after_market_order_says_what_it_is(neo):
    name = neo.listed("equities")
    market = neo.account.market(name.contract.instrument_id)
    tick = name.contract.tick_size
    stop = neo.place(
        name, order_type="SL", trigger_price=market.upper_circuit - 2 * tick, price=market.upper_circuit - tick
    )
    row = neo.row(stop.order_id)
    assert (row.status, row.order_type) == ("PENDING", "SL")
    assert row.trigger_price == float(market.upper_circuit - 2 * tick)
    later = neo.place(name, after_market=True)
    assert later.outcome is Outcome.ACCEPTED
    assert neo.account.order(later.order_id).new.after_market is True
    row = neo.row(later.order_id)
    assert row.variety == "AMO"
    cancelled = orders.parse_order_answer(neo.send(orders.cancel_request(neo.access, row, neo.now)))
    assert cancelled.outcome is Outcome.ACCEPTED


@pytest.mark.parametrize(
    "changes",
    [{"price": Decimal("0.03")}, {"listing": None}],
    ids=["off the tick", "unknown symbol"],
)
def test_a_refused_order_is_rejected_with_the_reason(neo, changes):
    name = neo.listed("equities")
    if "listing" in changes:
        changes = {"listing": Listing(broker_token="nse_cm|1", tradingsymbol="NOBODY-EQ", exchange="nse_cm")}
    answer = neo.place(name, **changes)
    assert answer.outcome is Outcome.REJECTED
    assert answer.status_message
    assert answer.order_id is None


def test_an_order_taken_and_then_rejected_says_why_in_the_book(neo):
    placed = neo.place(neo.listed("equities"), quantity=10_000_000)
    assert placed.outcome is Outcome.ACCEPTED
    row = neo.row(placed.order_id)
    assert (row.status, row.pending_quantity) == ("REJECTED", 0)
    assert row.status_message == neo.account.order(placed.order_id).status_message


def test_empty_books_are_refusals_that_mean_nothing_is_there():
    empty = envelope.book([])
    assert msgspec.json.decode(empty.body)["stCode"] == 5203
    assert books.parse_orders([empty], {}) == books.parse_trades([empty], {}) == []
    assert portfolio.parse_positions([empty], {}) == []


def test_positions_are_those_of_the_exchange(neo):
    name = neo.listed("equity_futures")
    neo.place(name, order_type="MARKET", price=None)
    rows = portfolio.parse_positions(neo.answers(portfolio.position_requests(neo.access, neo.now)), neo.listings())
    net = {row.position_key: row for row in rows if row.view == "net"}
    day = {row.position_key: row for row in rows if row.view == "day"}
    positions = neo.account.positions()
    assert len(net) == len(positions)
    assert any(position.overnight_quantity < 0 for position in positions)
    for position in positions:
        named = neo.dialect._names.by_id[position.instrument_id]
        market = neo.account.market(position.instrument_id)
        row = net[f"{named.key}:{position.product}"]
        assert (row.quantity, row.overnight_quantity) == (position.quantity, position.overnight_quantity)
        carried = position.overnight_quantity
        if carried:
            assert row.close_price == float(market.previous_close)
        bought = position.day_buy_value + max(carried, 0) * market.previous_close
        buys = position.day_buy_quantity + max(carried, 0)
        if position.quantity > 0:
            assert row.average_price == pytest.approx(float(bought / buys), abs=0.005)
        assert row.buy_value == pytest.approx(float(bought))
        assert row.last_price == float(market.last_price)
        sold = position.day_sell_value + max(-carried, 0) * market.previous_close
        result = sold - bought + position.quantity * market.last_price
        assert row.realized + row.unrealized == pytest.approx(float(result), abs=0.02)
        traded = position.day_buy_quantity or position.day_sell_quantity
        assert (row.position_key in day) == bool(traded)


def test_carried_shares_take_their_cost_from_the_holdings(neo):
    rows = [
        {
            "exSeg": "nse_cm", "tok": "14366", "trdSym": "IDEA-EQ", "prod": "CNC", "cfBuyQty": "10", "cfSellQty": "0",
            "cfBuyAmt": "93.00", "cfSellAmt": "0.00", "flBuyQty": "0", "flSellQty": "0", "ltp": "0",
        }
    ]  # fmt: skip
    flow = portfolio.position_requests(neo.access, neo.now)
    next(flow)
    second = flow.send(WireResponse(status=200, body=msgspec.json.encode({"stat": "ok", "stCode": 200, "data": rows})))
    assert second.url == f"{BASE}/portfolio/v1/holdings"


def test_holdings_and_funds_are_those_of_the_exchange(neo):
    rows = portfolio.parse_holdings(neo.answers(portfolio.holding_requests(neo.access, neo.now)))
    truth = neo.account.holdings()
    assert len(rows) == len(truth) == 8
    for row, holding in zip(rows, truth, strict=True):
        name = neo.dialect._names.by_id[holding.instrument_id]
        market = neo.account.market(holding.instrument_id)
        assert (row.instrument_token, row.settled_quantity) == (name.key, holding.total_quantity)
        assert row.average_price == float(holding.average_price)
        assert (row.last_price, row.close_price) == (float(market.last_price), float(market.previous_close))
    funds = portfolio.parse_funds(neo.answers(portfolio.fund_requests(neo.access, neo.now)))
    held = neo.account.funds()
    assert funds.available_balance == pytest.approx(float(held.available))
    assert funds.margin_utilized == pytest.approx(float(held.used), abs=0.01)
    assert funds.cash_balance == pytest.approx(float(held.opening_cash), abs=0.01)
    assert funds.unrealized == pytest.approx(float(held.unrealized), abs=0.01)
    assert funds.segments["derivatives"].span_margin == pytest.approx(float(held.span), abs=0.01)


def test_the_margin_of_an_order_says_what_is_lacking(neo):
    future = neo.listed("equity_index_futures")
    lot, money = future.contract.lot_size, neo.account.funds()
    for lots in (1, 1000):
        ticket = neo.ticket(future, quantity=lots * lot, product="NRML")
        answer = neo.send(margins.margin_request(neo.access, ticket, ticket.price, neo.now))
        body, needed = msgspec.json.decode(answer.body), margins.parse_margin(answer)
        assert float(body["totMrgnUsd"]) == pytest.approx(float(money.used + needed), abs=0.01)
        assert float(body["insufFund"]) == pytest.approx(max(float(needed - money.available), 0.0), abs=0.01)
        assert body["rmsVldtd"] == ("OK" if lots == 1 else "NOT_OK")
