"""Orders, trades, positions, holdings and funds of ICICI Direct, on its recorded answers."""

import contextlib
from datetime import datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.icicidirect import books, portfolio
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, WireResponse
from onebroker.config.clock import IST
from tests.support.every_case import every_case

NOW = datetime(2025, 2, 5, 23, 30, tzinfo=IST)


@pytest.fixture
def empty(success):
    return success([])


@pytest.fixture
def order(recorded):
    return dict(recorded["orders"]["Success"][0])


def asked(flow, answers):
    """Drive a flow with these answers; return the bodies it asked with."""
    bodies = []
    try:
        request = next(flow)
        for answer in answers:
            bodies.append((request.method, request.url.rpartition("/")[2], msgspec.json.decode(request.body)))
            assert request.kind is CallKind.READ
            request = flow.send(answer)
    except StopIteration:
        return bodies
    raise AssertionError("it asks for more")


def test_orders_are_asked_for_each_exchange_of_the_indian_day(access, empty):
    bodies = asked(books.order_requests(access, NOW), [empty] * 4)
    assert [body["exchange_code"] for *_, body in bodies] == ["NSE", "BSE", "NFO", "BFO"]
    method, path, body = bodies[0]
    assert (method, path) == ("GET", "order")
    assert (body["from_date"], body["to_date"]) == ("2025-02-05T00:00:00.000Z", "2025-02-05T23:59:59.000Z")
    bodies = asked(books.trade_requests(access, NOW), [empty] * 4)
    assert [path for _, path, _ in bodies] == ["trades"] * 4


def test_a_recorded_order_is_read(answer, recorded, empty):
    (row,) = books.parse_orders([answer(recorded["orders"]), empty, empty, empty], {})
    assert (row.order_id, row.status, row.transaction_type) == ("20250205N300001234", "OPEN", "BUY")
    assert (row.product, row.order_type, row.validity) == ("CNC", "LIMIT", "DAY")
    assert (row.instrument_token, row.tradingsymbol, row.exchange) == ("NSE:ITC", "ITC", "NSE")
    assert (row.quantity, row.filled_quantity, row.pending_quantity) == (1, 0, 1)
    assert (row.price, row.average_price, row.tag) == (420.0, 0.0, None)
    assert row.order_timestamp == "2025-02-05T09:26:00+05:30"


@every_case(
    ("status", "pending", "cancelled", "ours", "filled", "left"),
    [
        ("Requested", "10", "0", "PENDING", 0, (10, 0)),
        ("Queued", "10", "0", "PENDING", 0, (10, 0)),
        ("Ordered", "10", "0", "OPEN", 0, (10, 0)),
        ("Partially Executed", "4", "0", "OPEN", 6, (4, 0)),
        ("Freezed", "10", "0", "OPEN", 0, (10, 0)),
        ("Executed", "0", "0", "COMPLETE", 10, (0, 0)),
        ("Cancelled", "0", "10", "CANCELLED", 0, (0, 10)),
        ("Cancelled", "0", "0", "CANCELLED", 0, (0, 10)),
        ("Partially Executed And Cancelled", "0", "4", "CANCELLED", 6, (0, 4)),
        ("Cancelled", "0", "4", "CANCELLED", 6, (0, 4)),
        ("Ordered", "4", "0", "OPEN", 6, (4, 0)),
        ("Rejected", "0", "0", "REJECTED", 0, (0, 0)),
        ("Expired", "0", "0", "EXPIRED", 0, (0, 10)),
        ("Something New", "3", "0", "SOMETHING NEW", 7, (3, 0)),
    ],
)
def test_filled_is_what_the_status_and_the_rest_leave(
    success, empty, order, status, pending, cancelled, ours, filled, left
):
    told = order | {"status": status, "quantity": "10", "pending_quantity": pending, "cancelled_quantity": cancelled}
    (row,) = books.parse_orders([success([told]), empty, empty, empty], {})
    assert (row.status, row.filled_quantity) == (ours, filled)
    assert (row.pending_quantity, row.cancelled_quantity) == left


def test_what_expired_partly_filled_is_asked_for_its_fills(access, success, empty, order, recorded):
    order |= {"status": "Partially Executed And Expired", "quantity": "10", "pending_quantity": "0"}
    fills = success([recorded["fills"]["Success"][0] | {"executed_quantity": "3"}] * 2)
    answers = [empty, empty, success([order]), empty, fills]
    bodies = asked(books.order_requests(access, NOW), answers)
    assert bodies[4][1:] == ("trades", {"exchange_code": "NSE", "order_id": order["order_id"]})
    (row,) = books.parse_orders(answers, {})
    assert (row.status, row.filled_quantity, row.cancelled_quantity) == ("EXPIRED", 6, 4)


@pytest.mark.parametrize("word", ["Lapsed", "Partially Executed And Cancelled", "Partially Executed"])
def test_an_order_whose_row_does_not_say_what_was_filled_is_asked_for_its_fills(
    access, success, empty, order, recorded, word
):
    order |= {"status": word, "quantity": "10", "pending_quantity": "0", "cancelled_quantity": "0"}
    fills = success([recorded["fills"]["Success"][0] | {"executed_quantity": "3"}])
    answers = [success([order]), empty, empty, empty, fills]
    assert len(asked(books.order_requests(access, NOW), answers)) == 5
    (row,) = books.parse_orders(answers, {})
    assert row.filled_quantity == 3


def test_a_partly_filled_order_without_fills_is_not_one_without_a_fill(success, empty, order):
    order |= {"status": "Partially Executed And Expired", "quantity": "10", "pending_quantity": "0"}
    with pytest.raises(BadAnswer):
        books.parse_orders([success([order]), empty, empty, empty, empty], {})
    order |= {"status": "Lapsed"}
    (row,) = books.parse_orders([success([order]), empty, empty, empty, empty], {})
    assert row.filled_quantity == 0


@pytest.mark.parametrize(
    "error", ["FNO segment is not activated for this user", "User is not allowed to trade in this segment", "Invalid exchange code"]
)  # fmt: skip
def test_an_exchange_that_the_account_does_not_have_has_no_book(
    access, success, empty, refusal, order, recorded, error
):
    answers = [success([order]), empty, refusal(error), refusal(error)]
    assert len(asked(books.order_requests(access, NOW), answers)) == 4
    assert [row.order_id for row in books.parse_orders(answers, {})] == [order["order_id"]]
    trades = [success(recorded["trades"]["Success"]), empty, refusal(error), refusal(error)]
    assert len(books.parse_trades(trades, {})) == 2
    with pytest.raises(BrokerRefusal):
        books.parse_orders([refusal(error), empty, empty, empty], {})


@pytest.mark.parametrize(
    ("error", "status", "http"),
    [
        ("Resource not available.", 500, 200),
        ("Limit exceed: API call per minute:Try after some time", 5, 200),
        ("Request timed out", 500, 200),
        ("Exchange is not available", 500, 200),
        ("FNO segment is not activated", 500, 503),
    ],
)
def test_any_other_refusal_of_an_exchange_refuses_the_book(empty, refusal, error, status, http):
    with pytest.raises(BrokerRefusal):
        books.parse_orders([empty, empty, refusal(error, status, http), empty], {})


def test_a_trade_shown_by_two_exchanges_is_one(success, empty, recorded):
    shown = success(recorded["trades"]["Success"])
    assert len(books.parse_trades([shown, shown, empty, empty], {})) == 2


def test_an_order_shown_by_two_exchanges_is_one(success, empty, order):
    assert len(books.parse_orders([success([order]), success([order]), empty, empty], {})) == 1


def test_an_options_order_is_named_whole(success, empty, order):
    order |= {
        "exchange_code": "NFO", "stock_code": "CNXBAN", "product_type": "Options", "expiry_date": "27-Feb-2025", "right": "Call",
        "strike_price": 50000.0, "order_type": "StopLoss", "stoploss": "6.05", "validity": "VTC",
    }  # fmt: skip
    (row,) = books.parse_orders([empty, empty, success([order]), empty], {})
    assert row.instrument_token == "NFO:CNXBAN:2025-02-27:50000:CE"
    assert (row.product, row.order_type, row.validity, row.trigger_price) == ("NRML", "SL", "GTC", 6.05)


def test_one_refused_exchange_refuses_the_book(empty, refusal):
    with pytest.raises(BrokerRefusal):
        books.parse_orders([empty, refusal("Resource not available."), empty, empty], {})


def test_recorded_trades_are_one_averaged_row_an_order(answer, recorded, empty):
    rows = books.parse_trades([answer(recorded["trades"]), empty, empty, empty], {})
    assert [(row.trade_id, row.quantity, row.price, row.transaction_type) for row in rows] == [
        ("20250205N300012345", 1, 452.2, "BUY"), ("20250205N300012345-2", 1, 452.55, "SELL"),
    ]  # fmt: skip
    assert {row.order_id for row in rows} == {"20250205N300012345"}
    assert (rows[0].product, rows[0].trade_timestamp) == ("MIS", "05-Feb-2025")
    broken = recorded["trades"]["Success"][0] | {"average_cost": "0"}
    with pytest.raises(BadAnswer):
        books.parse_trades([answer({"Success": [broken], "Status": 200, "Error": None}), empty, empty, empty], {})


def test_a_recorded_flat_position_has_no_average(answer, recorded):
    (row,) = portfolio.parse_positions([answer(recorded["positions"])], {})
    assert (row.view, row.quantity, row.average_price, row.last_price) == ("net", 0, None, 29.95)
    assert row.instrument_token == "NFO:NIFTY:2025-02-27:24800:CE"
    assert (row.realized, row.unrealized, row.buy_value) == (None, None, None)


@pytest.mark.parametrize(("action", "quantity", "average"), [("Buy", 75, 28.85), ("Sell", -75, 28.85)])
def test_the_action_is_the_sign(success, recorded, action, quantity, average):
    row = recorded["positions"]["Success"][0] | {"action": action, "quantity": "75", "average_price": "28.85"}
    (read,) = portfolio.parse_positions([success([row])], {})
    assert (read.quantity, read.average_price) == (quantity, average)


@pytest.mark.parametrize("action", ["NA", "", None, "Hold"])
def test_units_without_a_side_are_no_flat_position(success, recorded, action):
    row = recorded["positions"]["Success"][0] | {"action": action, "quantity": "75"}
    with pytest.raises(BadAnswer):
        portfolio.parse_positions([success([row])], {})


def test_a_missing_average_stays_none_and_keys_differ_by_settlement(success, recorded):
    row = recorded["positions"]["Success"][0] | {"action": "Buy", "quantity": "75", "average_price": None}
    rows = portfolio.parse_positions([success([row, row | {"settlement_id": "2025027"}])], {})
    assert [each.average_price for each in rows] == [None, None]
    assert len({each.position_key for each in rows}) == 2


def portfolio_holding(**changes):
    return {"stock_code": "UNITEC", "exchange_code": "NSE", "quantity": "1", "average_price": "12.5", "current_market_price": "9.1", "product_type": None, "expiry_date": None, **changes}  # fmt: skip


def test_a_holding_is_what_both_lists_say(answer, success, recorded):
    demat = answer(recorded["demat_holdings"])
    (row,) = portfolio.parse_holdings([demat, success([portfolio_holding()])])
    assert (row.instrument_token, row.isin, row.settled_quantity) == ("NSE:UNITEC", "INE694A01020", 1)
    assert (row.t1_quantity, row.collateral_quantity) == (0, 0)
    assert (row.average_price, row.last_price) == (12.5, 9.1)
    (row,) = portfolio.parse_holdings([demat, success([])])
    assert (row.settled_quantity, row.average_price) == (1, None)


def test_what_is_not_delivered_is_t1_and_what_is_not_available_is_pledged(success, recorded):
    demat = recorded["demat_holdings"]["Success"][0] | {
        "quantity": "10",
        "demat_allocated_quantity": "4",
        "blocked_quantity": "1",
    }
    margin = portfolio_holding(product_type="MTF", quantity="5", average_price="11")
    (row,) = portfolio.parse_holdings([success([demat]), success([portfolio_holding(quantity="16"), margin])])
    assert (row.settled_quantity, row.t1_quantity, row.collateral_quantity) == (10, 6, 5)
    assert (row.margin_quantity, row.margin_average_price) == (5, 11.0)


def test_derivatives_and_empty_rows_of_the_portfolio_are_no_holdings(answer, success, recorded):
    assert portfolio.parse_holdings([success([]), answer(recorded["portfolio_holdings"])]) == []
    assert portfolio.parse_holdings([success([]), success([portfolio_holding(quantity="0")])]) == []


def test_holdings_take_two_calls(access, empty):
    bodies = asked(portfolio.holding_requests(access, NOW), [empty, empty])
    assert [(path, body) for _, path, body in bodies] == [
        ("dematholdings", {}),
        ("portfolioholdings", {"exchange_code": "NSE"}),
    ]


def test_recorded_funds_are_four_pools(answer, recorded):
    row = portfolio.parse_funds([answer(recorded["funds"])])
    assert row.pools == {"equity": 2e8, "derivatives": 187499999.47, "currency": 2e8, "commodity": 2e8}
    assert row.available_balance == 787499999.47
    assert (row.margin_utilized, row.cash_balance, row.withdrawable_balance) == (12500000.53, 8e8, 87500000.0)
    assert row.segments["derivatives"].margin_utilized == 12500000.53


ROW = st.dictionaries(
    st.sampled_from(["order_id", "exchange_code", "stock_code", "status", "quantity", "average_cost", "expiry_date", "action", "strike_price", "right"]),
    st.one_of(st.none(), st.text(max_size=6), st.integers(-5, 5), st.floats(), st.lists(st.integers(), max_size=1)),
)  # fmt: skip


@given(st.lists(ROW, max_size=3))
def test_no_row_breaks_more_than_its_read(rows):
    body = msgspec.json.encode({"Success": rows, "Status": 200, "Error": None})
    answers = [WireResponse(status=200, body=body)] * 4
    for parse in (books.parse_orders, books.parse_trades, portfolio.parse_positions):
        with contextlib.suppress(BadAnswer):
            parse(answers, {})
    with contextlib.suppress(BadAnswer):
        portfolio.parse_holdings(answers)


@pytest.mark.parametrize("content", ["", {}, 0, False])
def test_a_success_that_is_no_list_is_no_empty_book(success, content):
    with pytest.raises(BadAnswer):
        portfolio.parse_positions([success(content)], {})


def test_a_share_whose_expiry_is_blank_keeps_its_cost(success, recorded):
    demat = recorded["demat_holdings"]["Success"][0]
    cost = {
        "stock_code": demat["stock_code"],
        "quantity": "1",
        "average_price": "6.5",
        "expiry_date": "",
        "product_type": "",
    }
    (row,) = portfolio.parse_holdings([success([demat]), success([cost])])
    assert row.average_price == 6.5


@pytest.mark.parametrize("other", [{"stock_code": "RELIND"}, {"exchange_code": "BSE"}, {"order_id": "1"}])
def test_fills_of_another_order_than_was_asked_for_are_a_failed_read(success, empty, order, recorded, other):
    order |= {"status": "Partially Executed And Expired", "quantity": "10", "pending_quantity": "0"}
    fill = recorded["fills"]["Success"][0] | {
        "stock_code": order["stock_code"],
        "exchange_code": order["exchange_code"],
    }
    answers = [success([order]), empty, empty, empty]
    assert books.parse_orders([*answers, success([fill])], {})[0].filled_quantity == 1
    with pytest.raises(BadAnswer, match="not asked for"):
        books.parse_orders([*answers, success([fill | other])], {})
