"""The order book of all segments and pages; the trade book order by order."""

from datetime import datetime
from urllib.parse import parse_qs, urlsplit

import attrs
import msgspec
import pytest

from onebroker.brokers.groww import books
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, WireResponse
from onebroker.config.clock import IST
from tests.support.every_case import every_case

NOW = datetime(2026, 11, 23, 10, 0, tzinfo=IST)
EMPTY = {"order_list": []}


def answer(payload):
    return WireResponse(status=200, body=msgspec.json.encode({"status": "SUCCESS", "payload": payload}))


def order(number, filled=0, segment="CASH"):
    return {
        "groww_order_id": f"G{number}", "trading_symbol": "X", "order_status": "OPEN", "quantity": 10, "filled_quantity": filled,
        "exchange": "NSE", "segment": segment, "transaction_type": "BUY", "product": "CNC", "order_type": "LIMIT",
    }  # fmt: skip


def asked(flow, answers):
    """Send answers by what is asked for; return (path, query, version) of every request, and the answers."""
    seen, given = [], []
    request = next(flow)
    while True:
        parts = urlsplit(request.url)
        query = {name: value[0] for name, value in parse_qs(parts.query).items()}
        seen.append((parts.path.removeprefix("/v1"), query, request.version))
        given.append(answers(seen[-1][0], query))
        try:
            request = flow.send(given[-1])
        except StopIteration:
            return seen, given


def test_orders_are_read_in_units_with_indian_times(recorded):
    filled, stop, cancelled = books.parse_orders([recorded("orders")], {})
    assert (filled.order_id, filled.status, filled.instrument_token) == (
        "GMK39038RDT490CCVRO",
        "COMPLETE",
        "NSE:CASH:RELIANCE",
    )
    assert (filled.quantity, filled.filled_quantity, filled.average_price) == (10, 10, 1432.55)
    assert (filled.order_timestamp, filled.tag) == ("2026-11-23T09:21:04+05:30", "ob0123456789ab")
    assert (stop.status, stop.order_type, stop.pending_quantity) == ("PENDING", "SL", 75)
    assert (stop.trigger_price, stop.average_price, stop.exchange_timestamp) == (102.0, 0.0, None)
    assert (stop.instrument_token, stop.order_timestamp) == ("NSE:FNO:NIFTY26N2424100PE", "2026-11-23T09:30:00+05:30")
    assert (cancelled.order_type, cancelled.cancelled_quantity, cancelled.pending_quantity) == ("SL-M", 6, 0)
    assert (cancelled.exchange, cancelled.status_message) == ("BSE", "Cancelled by user")


def test_every_segment_is_asked_for_but_those_the_account_does_not_have(access):
    seen, _ = asked(books.order_requests(access, NOW), lambda path, query: answer(EMPTY))
    assert [query["segment"] for _, query, _ in seen] == ["CASH", "FNO", "COMMODITY"]
    assert seen[0] == ("/order/list", {"segment": "CASH", "page": "0", "page_size": "100"}, None)
    login = attrs.evolve(access.login, profile={"active_segments": ["CASH", "FNO"]})
    seen, _ = asked(books.order_requests(attrs.evolve(access, login=login), NOW), lambda path, query: answer(EMPTY))
    assert [query["segment"] for _, query, _ in seen] == ["CASH", "FNO"]


@every_case("capped", [100, 25])
@every_case("count", [0, 1, 24, 25, 26, 99, 100, 101, 250])
def test_pages_are_read_to_the_end_also_where_a_page_is_shorter_than_asked(access, count, capped):
    """Should Groww answer its default page to who asks for more, nothing is lost either."""
    rows = [order(number) for number in range(count)]

    def page(path, query):
        start = int(query["page"]) * capped
        return answer({"order_list": rows[start : start + capped] if query["segment"] == "CASH" else []})

    _, answers = asked(books.order_requests(access, NOW), page)
    assert [row.order_id for row in books.parse_orders(answers, {})] == [f"G{number}" for number in range(count)]


def test_a_list_that_repeats_its_page_is_no_list(access):
    rows = [order(number) for number in range(100)]
    with pytest.raises(BadAnswer, match="same rows"):
        asked(books.order_requests(access, NOW), lambda path, query: answer({"order_list": rows}))


def test_an_order_on_two_pages_counts_once():
    pages = [answer({"order_list": [order(1), order(2)]}), answer({"order_list": [order(2), order(3)]})]
    assert [row.order_id for row in books.parse_orders(pages, {})] == ["G1", "G2", "G3"]


def test_a_refusal_on_the_way_ends_the_read(access):
    refusal = WireResponse(status=401, body=b"")
    with pytest.raises(BrokerRefusal):
        asked(books.order_requests(access, NOW), lambda path, query: refusal)


def test_trades_are_asked_for_order_by_order_where_something_filled(access, recorded):
    lists = {"CASH": recorded("orders"), "FNO": answer(EMPTY), "COMMODITY": answer({"order_list": None})}
    partly = {"trade_list": [trade("GMK39038RDT490CCVRQ", "T3", 4)]}

    def reply(path, query):
        if path == "/order/list":
            return lists[query["segment"]]
        return recorded("trades") if path.endswith("CCVRO") else answer(partly)

    seen, answers = asked(books.trade_requests(access, NOW), reply)
    assert seen[3:] == [
        ("/order/trades/GMK39038RDT490CCVRO", {"segment": "CASH", "page": "0", "page_size": "25"}, "10"),
        ("/order/trades/GMK39038RDT490CCVRQ", {"segment": "CASH", "page": "0", "page_size": "25"}, "4"),
    ]
    trades = books.parse_trades(answers, {})
    assert [(each.trade_id, each.quantity, each.price) for each in trades] == [
        ("T1", 6, 1432.5), ("T2", 4, 1432.625), ("T3", 4, 1400.0),
    ]  # fmt: skip
    assert trades[0].trade_timestamp == "2026-11-23T09:21:05"  # as the broker writes it
    assert (trades[0].exchange_trade_id, trades[0].exchange_order_id) == ("90011", "1100000012345678")


def trade(order_id, trade_id, quantity):
    return {
        "price": 1400, "quantity": quantity, "groww_order_id": order_id, "groww_trade_id": trade_id, "trading_symbol": "X",
        "exchange": "NSE", "segment": "CASH", "product": "MIS", "transaction_type": "SELL",
    }  # fmt: skip


def test_a_trade_book_with_a_hole_or_of_somebody_else_is_none():
    orders_read = answer({"order_list": [order(1, filled=10)]})
    whole = [trade("G1", "T1", 6), trade("G1", "T2", 4)]
    assert len(books.parse_trades([orders_read, answer({"trade_list": whole})], {})) == 2
    # Filled more meanwhile is no hole; a trade told twice is no second one.
    more = [*whole, whole[0], trade("G1", "T3", 5)]
    assert len(books.parse_trades([orders_read, answer({"trade_list": more})], {})) == 3
    for rows in ([], whole[:1], [whole[0], whole[0]], [trade("G2", "T1", 10)]):
        with pytest.raises(BadAnswer):
            books.parse_trades([orders_read, answer({"trade_list": rows})], {})


@pytest.mark.parametrize(
    "gone", ["groww_order_id", "order_status", "segment", "exchange", "trading_symbol", "quantity"]
)
def test_an_order_that_does_not_say_what_it_is_is_unreadable(gone):
    row = {name: value for name, value in order(1).items() if name != gone}
    with pytest.raises(BadAnswer):
        books.parse_orders([answer({"order_list": [row]})], {})


def test_a_trade_without_a_price_is_unreadable():
    rows = {"trade_list": [trade("G1", "T1", 10) | {"price": 0}]}
    with pytest.raises(BadAnswer):
        books.parse_trades([answer({"order_list": [order(1, filled=10)]}), answer(rows)], {})


@pytest.mark.parametrize("payload", [{}, {"message": "try again"}, {"orders": []}])
def test_a_success_without_its_list_is_no_empty_book(access, payload):
    with pytest.raises(BadAnswer):
        asked(books.order_requests(access, NOW), lambda path, query: answer(payload))
    with pytest.raises(BadAnswer):
        books.parse_orders([answer(payload)], {})
    with pytest.raises(BadAnswer):
        books.parse_trades([answer({"order_list": []}), answer(payload)], {})
