"""Shoonya's server over the real exchange: orders, books and funds."""

import msgspec
import pytest

from onebroker.brokers.broker import OrderChange
from onebroker.brokers.events import OrderUpdate, TradeUpdate
from onebroker.brokers.requests import NotSendable, WireResponse
from onebroker.brokers.shoonya import books, margins, orders, portfolio
from onebroker.brokers.simulator.dialects.shoonya.naming import name_of
from onebroker.config.vocabulary import Outcome
from tests.brokers.simulator.dialects.shoonya.client import order_row
from tests.support.every_case import every_case


def test_an_order_is_placed_shown_changed_and_cancelled(shoonya):
    name = shoonya.listed("equities")
    placed = shoonya.place(name, quantity=7)
    assert placed.outcome is Outcome.ACCEPTED
    row = shoonya.row(placed.order_id)
    assert (row.status, row.quantity, row.tag, row.product) == ("OPEN", 7, "ob0123456789ab", "CNC")
    assert row.order_timestamp == "2026-11-23T10:00:00+05:30"
    change = OrderChange(row=row, listing=shoonya.listing(name), segment="nse_equities", quantity=9)
    changed = orders.parse_order_answer(shoonya.send(orders.modify_request(shoonya.access, change, shoonya.now)))
    assert (changed.outcome, changed.order_id) == (Outcome.ACCEPTED, placed.order_id)
    assert shoonya.account.order(placed.order_id).quantity == 9
    cancelled = orders.parse_order_answer(shoonya.send(orders.cancel_request(shoonya.access, row, shoonya.now)))
    assert (cancelled.outcome, cancelled.order_id) == (Outcome.ACCEPTED, placed.order_id)
    row = shoonya.row(placed.order_id)
    assert (row.status, row.quantity, row.cancelled_quantity) == ("CANCELLED", 9, 9)
    again = orders.parse_order_answer(shoonya.send(orders.cancel_request(shoonya.access, row, shoonya.now)))
    assert again.outcome is Outcome.REJECTED


def test_a_stop_goes_in_as_a_stop_and_is_changed_to_a_limit(shoonya):
    name = shoonya.listed("equities")
    market = shoonya.account.market(name.contract.instrument_id)
    trigger = market.upper_circuit - name.contract.tick_size
    placed = shoonya.place(name, order_type="SL", price=market.upper_circuit, trigger_price=trigger)
    row = shoonya.row(placed.order_id)
    assert (row.status, row.order_type, row.trigger_price) == ("PENDING", "SL", float(trigger))
    change = OrderChange(row=row, listing=shoonya.listing(name), segment="nse_equities", order_type="LIMIT",
                         price=market.lower_circuit)  # fmt: skip
    changed = orders.parse_order_answer(shoonya.send(orders.modify_request(shoonya.access, change, shoonya.now)))
    assert changed.outcome is Outcome.ACCEPTED
    row = shoonya.row(placed.order_id)
    assert (row.status, row.order_type, row.trigger_price) == ("OPEN", "LIMIT", 0.0)


@pytest.mark.parametrize(
    ("bare", "exchange", "symbol", "wired"),
    [
        ("currency_futures", "nse", "USDINR", 2),  # a lot of 1000 is one
        ("commodity_futures", "mcx", "CRUDEOIL", 200),  # barrels
        ("commodity_futures", "mcx", "GOLD", 2),  # kilograms, priced by ten grams
        ("commodity_futures", "mcx", "GOLDM", 200),  # grams, priced by ten grams
        ("commodity_futures", "ncdex", "JEERAUNJHA", 6),  # tonnes, priced by the quintal
    ],
)
def test_contracts_go_over_the_wire_in_the_brokers_quantities_and_come_back_in_units(
    wide, bare, exchange, symbol, wired
):
    name = wide.listed(bare, exchange, symbol)
    units = 2 * name.contract.lot_size
    request = orders.place_request(wide.access, wide.ticket(name, quantity=units), wide.now)
    assert msgspec.json.decode(request.body.removeprefix(b"jData="))["qty"] == str(wired)
    answer = orders.parse_order_answer(wide.send(request))
    assert wide.account.order(answer.order_id).quantity == units
    row = wide.row(answer.order_id)
    assert (row.quantity, row.pending_quantity) == (units, units)
    assert row.contract_units is not None
    change = OrderChange(
        row=row, listing=wide.listing(name), segment=name.contract.identity.segment, quantity=units // 2
    )
    changed = orders.parse_order_answer(wide.send(orders.modify_request(wide.access, change, wide.now)))
    assert changed.outcome is Outcome.ACCEPTED
    assert wide.account.order(answer.order_id).quantity == units // 2


@pytest.mark.parametrize("symbol", ["GOLD", "GOLDM", "CRUDEOIL"])
def test_a_trade_is_in_the_trade_book_the_position_and_on_the_stream(wide, symbol):
    name = wide.listed("commodity_futures", "mcx", symbol)
    wire, session, decoder = wide.open()
    placed = wide.buy_now(name)
    order = wide.account.order(placed.order_id)
    assert order.filled_quantity == name.contract.lot_size
    fills = [fill for fill in wide.account.fills() if fill.order_id == placed.order_id]
    states = wide.account.order_history(placed.order_id)
    for state, fill in zip(states[-len(fills) :], fills, strict=True):
        session.order_changed(state, fill)
    assert not any("token" in frame for frame in wire.messages)
    events = [event for frame in wire.frames for event in decoder.receive(frame)]
    told = [event.order for event in events if isinstance(event, OrderUpdate)]
    assert (told[0].status, told[0].filled_quantity) == ("PENDING", 0)
    assert (told[-1].status, told[-1].filled_quantity) == ("COMPLETE", name.contract.lot_size)
    assert told[-1].instrument_token == name.scrip
    trades = [
        trade
        for trade in books.parse_trades(wide.send_all(books.trade_requests(wide.access, wide.now)), wide.listings())
        if trade.order_id == placed.order_id
    ]
    assert sum(trade.quantity for trade in trades) == name.contract.lot_size
    streamed = [event.trade for event in events if isinstance(event, TradeUpdate)]
    assert [(one.trade_id, one.quantity, one.price) for one in streamed] == [
        (one.trade_id, one.quantity, one.price) for one in trades
    ]
    rows = portfolio.parse_positions(wide.send_all(portfolio.position_requests(wide.access, wide.now)), wide.listings())
    day = next(row for row in rows if row.view == "day" and row.instrument_token == name.scrip)
    assert (day.quantity, day.buy_quantity) == (name.contract.lot_size, name.contract.lot_size)
    assert day.buy_value == pytest.approx(float(order.filled_value))


def test_positions_holdings_and_funds_are_the_exchanges_truth(shoonya):
    positions = portfolio.parse_positions(
        shoonya.send_all(portfolio.position_requests(shoonya.access, shoonya.now)), shoonya.listings()
    )
    net = {row.instrument_token: row for row in positions if row.view == "net"}
    assert shoonya.account.positions()
    for held in shoonya.account.positions():
        row = net[name_of(shoonya.account.contract(held.instrument_id)).scrip]
        assert (row.quantity, row.overnight_quantity) == (held.quantity, held.overnight_quantity)
        if held.overnight_quantity and not (held.day_buy_quantity or held.day_sell_quantity):
            assert row.average_price == pytest.approx(float(held.overnight_price), abs=0.01)
    rows = portfolio.parse_holdings(shoonya.send_all(portfolio.holding_requests(shoonya.access, shoonya.now)))
    by_isin = {row.isin: row for row in rows}
    for held in shoonya.account.holdings():
        row = by_isin[shoonya.account.contract(held.instrument_id).isin]
        assert (row.settled_quantity, row.t1_quantity, row.collateral_quantity) == (
            held.settled_quantity + held.collateral_quantity, held.t1_quantity, held.collateral_quantity,
        )  # fmt: skip
        assert row.average_price == pytest.approx(float(held.average_price), abs=0.01)
        assert row.exchange == "NSE"
    shoonya.buy_now(shoonya.listed("equity_index_futures"))
    funds = portfolio.parse_funds(shoonya.send_all(portfolio.fund_requests(shoonya.access, shoonya.now)))
    truth = shoonya.account.funds()
    assert funds.available_balance == pytest.approx(float(truth.available), abs=0.02)
    assert funds.collateral_value == float(truth.collateral)
    assert funds.span_margin == pytest.approx(float(truth.span), abs=0.01)
    assert truth.span > 0
    assert funds.realized == pytest.approx(float(truth.realized), abs=0.01)
    assert funds.segments["derivatives"].exposure_margin == pytest.approx(float(truth.exposure), abs=0.01)


def test_the_margin_of_an_order_says_what_is_lacking(shoonya):
    future = shoonya.listed("equity_index_futures")
    lot, money = future.contract.lot_size, shoonya.account.funds()
    for lots in (1, 1000):
        ticket = shoonya.ticket(future, quantity=lots * lot, product="NRML")
        answer = shoonya.send(margins.margin_request(shoonya.access, ticket, ticket.price, shoonya.now))
        body, needed = msgspec.json.decode(answer.body), margins.parse_margin(answer)
        lacking = needed > money.available
        assert lacking is (lots == 1000)
        assert body["remarks"] == ("Insufficient Balance" if lacking else "")
        used = needed - money.available if lacking else money.used + needed
        assert float(body["marginused"]) == pytest.approx(float(used), abs=0.02)


def test_a_margin_is_refused_as_an_order_is(shoonya):
    fields = {"exch": "NFO", "qty": "1", "prc": "100", "prd": "M", "trantype": "S", "prctyp": "LMT"}
    assert shoonya.call("GetOrderMargin", tsym="NOBODY", **fields)[1]["emsg"] == "Invalid Trading Symbol"
    future = shoonya.listed("equity_index_futures")
    assert (
        shoonya.call("GetOrderMargin", tsym=future.tradingsymbol, **{**fields, "prd": "X"})[1]["emsg"]
        == "Invalid Input : prd"
    )


def test_an_empty_list_is_a_refusal_that_reads_as_none(shoonya):
    status, body = shoonya.call("Holdings", prd="M")
    assert (status, body["emsg"]) == (200, 'Error Occurred : 5 "no data"')
    answer = WireResponse(status=status, body=msgspec.json.encode(body))
    assert portfolio.parse_holdings([answer]) == []
    assert books.parse_orders([answer], {}) == []


def test_refusals_are_clear(shoonya):
    unknown = orders.parse_order_answer(
        shoonya.send(orders.cancel_request(shoonya.access, order_row("99"), shoonya.now))
    )
    assert unknown.outcome is Outcome.REJECTED
    full = orders.parse_order_answer(shoonya.dialect.rate_limited())
    assert (full.outcome, full.rate_limited) == (Outcome.REJECTED, True)
    assert orders.parse_order_answer(shoonya.dialect.refusal_in_200()).outcome is Outcome.REJECTED


@every_case(
    ("change", "text"),
    [
        ({"tsym": "NOBODY-EQ"}, "Invalid Trading Symbol"),
        ({"prctyp": "MKT"}, "Invalid Input : Market orders are not allowed from API"),
        ({"prc": "0"}, "Order price cannot be zero"),
        ({"prctyp": "SL-LMT", "trgprc": "None"}, "Trigger price invalid - 0.00"),
        ({"qty": "-1"}, "Invalid Input : qty"),
        ({"ret": "GTC"}, "Invalid Input : ret"),
        ({"prd": "H"}, "Invalid Input : prd"),
    ],
)
def test_a_body_the_broker_would_refuse_is_refused_in_its_words(shoonya, change, text):
    request = orders.place_request(shoonya.access, shoonya.ticket(shoonya.listed("equities")), shoonya.now)
    fields = msgspec.json.decode(request.body.removeprefix(b"jData=")) | change
    before = shoonya.account.orders()
    _, body = shoonya.call("PlaceOrder", **fields)
    assert (body["stat"], body["emsg"]) == ("Not_Ok", text)
    assert shoonya.account.orders() == before


def test_what_the_official_client_sends_for_nothing_is_taken(shoonya):
    request = orders.place_request(shoonya.access, shoonya.ticket(shoonya.listed("equities")), shoonya.now)
    fields = msgspec.json.decode(request.body.removeprefix(b"jData="))
    _, body = shoonya.call("PlaceOrder", **fields | {"trgprc": "None", "remarks": None, "algo_id": None})
    assert body["stat"] == "Ok"
    assert shoonya.account.order(body["norenordno"]).new.tag is None


def test_a_symbol_with_an_ampersand_must_be_escaped_in_the_body(shoonya):
    assert shoonya.call("PlaceOrder", exch="NSE", tsym="M&M-EQ")[1]["emsg"].startswith("Invalid Input : jData")
    assert shoonya.call("PlaceOrder", exch="NSE", tsym="M%26M-EQ")[1]["emsg"] == "Invalid Trading Symbol"


def test_a_trigger_beside_a_limit_is_refused_on_modify(shoonya):
    name = shoonya.listed("equities")
    placed = shoonya.place(name)
    fields = {"exch": "NSE", "tsym": name.tradingsymbol, "norenordno": placed.order_id, "prctyp": "LMT", "prc": "100"}
    _, body = shoonya.call("ModifyOrder", **fields, qty="1", trgprc="0.00")
    assert body["emsg"] == "Trigger price invalid - 0.00"


def test_an_order_the_risk_check_kills_is_taken_first_and_rejected_in_the_book(shoonya):
    name = shoonya.listed("equities")
    placed = shoonya.place(name, price=shoonya.account.market(name.contract.instrument_id).upper_circuit * 2)
    row = shoonya.row(placed.order_id)
    assert (placed.outcome, row.status, row.pending_quantity) == (Outcome.ACCEPTED, "REJECTED", 0)
    assert row.status_message.startswith("RED:RULE:")


def test_what_cannot_be_said_is_not_sent(shoonya):
    name = shoonya.listed("equities")
    for order_type in ("MARKET", "SL-M"):
        with pytest.raises(NotSendable):
            orders.place_request(shoonya.access, shoonya.ticket(name, order_type=order_type), shoonya.now)
    dollar = shoonya.listed("currency_futures")
    with pytest.raises(NotSendable):
        orders.place_request(shoonya.access, shoonya.ticket(dollar, quantity=500), shoonya.now)


def test_history_is_newest_first(shoonya):
    placed = shoonya.buy_now(shoonya.listed("equities"))
    _, rows = shoonya.call("SingleOrdHist", norenordno=placed.order_id)
    assert rows[0]["status"] == "COMPLETE"
    assert shoonya.call("SingleOrdStatus", norenordno=placed.order_id)[1][0]["norenordno"] == placed.order_id
    assert shoonya.call("SingleOrdHist", norenordno="nobody")[1]["stat"] == "Not_Ok"
