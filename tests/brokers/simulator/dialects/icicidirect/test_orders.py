"""ICICI Direct's server over the real exchange: orders, books and funds."""

from decimal import Decimal

import attrs
import msgspec
import pytest

from onebroker.brokers.broker import OrderChange
from onebroker.brokers.events import OrderUpdate
from onebroker.brokers.icicidirect import books, order_feed, orders, portfolio, wire
from onebroker.brokers.records import Listing
from onebroker.brokers.simulator.world.model import SimStatus
from onebroker.config.vocabulary import Outcome
from tests.support.dialect_client import BASE, Wire
from tests.support.every_case import every_case

KINDS = (
    ("equities", "nse"), ("equities", "bse"), ("exchange_traded_funds", "nse"), ("equity_index_futures", "nse"),
    ("equity_index_options", "nse"), ("equity_options", "nse"), ("equity_index_options", "bse"),
)  # fmt: skip


@pytest.mark.parametrize(("bare", "exchange"), KINDS)
def test_an_order_lives_from_place_to_cancel_as_many_units_as_we_said(icici, bare, exchange):
    contract = icici.tradable(bare, exchange)
    placed = icici.place(contract, quantity=2 * contract.lot_size)
    assert placed.outcome is Outcome.ACCEPTED
    truth, row = icici.account.order(placed.order_id), icici.book()[placed.order_id]
    assert truth.new.instrument_id == contract.instrument_id
    assert truth.quantity == row.quantity == row.pending_quantity == 2 * contract.lot_size
    assert (row.status, row.tag, row.price) == ("OPEN", "ob0123456789ab", float(truth.price))
    assert row.instrument_token == icici.by_contract[contract.instrument_id]
    assert row.order_timestamp == "2026-11-23T10:00:00+05:30"
    change = OrderChange(
        row=row, listing=icici.listing(contract), segment=contract.identity.segment, quantity=contract.lot_size,
        price=truth.price + contract.tick_size,
    )  # fmt: skip
    changed = orders.parse_order_answer(icici.send(orders.modify_request(icici.access, change, icici.now)))
    assert (changed.outcome, changed.order_id) == (Outcome.ACCEPTED, placed.order_id)
    now = icici.account.order(placed.order_id)
    assert (now.quantity, now.price) == (contract.lot_size, truth.price + contract.tick_size)
    cancelled = orders.parse_order_answer(icici.send(orders.cancel_request(icici.access, row, icici.now)))
    assert cancelled.outcome is Outcome.ACCEPTED
    assert icici.account.order(placed.order_id).status is SimStatus.CANCELLED
    row = icici.book()[placed.order_id]
    assert (row.status, row.pending_quantity, row.cancelled_quantity) == ("CANCELLED", 0, contract.lot_size)
    again = orders.parse_order_answer(icici.send(orders.cancel_request(icici.access, row, icici.now)))
    assert (again.outcome, again.order_id) == (Outcome.REJECTED, None)


def test_a_stop_waits_at_its_trigger_and_becomes_a_limit_order_by_modify(icici):
    contract = icici.contract("equities")
    market = icici.account.market(contract.instrument_id)
    trigger = market.upper_circuit - 4 * contract.tick_size
    placed = icici.place(
        contract, order_type="SL", trigger_price=trigger, price=trigger + contract.tick_size, quantity=5
    )
    row = icici.book()[placed.order_id]
    assert (row.order_type, row.trigger_price) == ("SL", float(trigger))
    assert icici.account.order(placed.order_id).trigger_price == trigger
    low = market.lower_circuit + contract.tick_size
    change = OrderChange(
        row=row, listing=icici.listing(contract), segment="nse_equities", order_type="LIMIT", price=low, validity="DAY"
    )
    assert (
        orders.parse_order_answer(icici.send(orders.modify_request(icici.access, change, icici.now))).outcome
        is Outcome.ACCEPTED
    )
    row = icici.book()[placed.order_id]
    assert (row.order_type, row.price, row.status) == ("LIMIT", float(low), "OPEN")


@pytest.mark.parametrize(("bare", "exchange"), [("equities", "nse"), ("equity_index_options", "nse")])
def test_fills_are_in_the_book_the_trade_book_the_positions_and_on_the_stream(icici, bare, exchange):
    socket, session, decoder = icici.open(order_feed)
    contract = icici.contract(bare, exchange)
    most = icici.account.market(contract.instrument_id).sell[0].quantity
    order_id = icici.bought(contract, most + contract.lot_size)  # the rest of it stays open
    for state in icici.account.order_history(order_id):
        session.order_changed(state, None)
    truth = icici.account.order(order_id)
    assert 0 < truth.filled_quantity < truth.quantity
    row = icici.book()[order_id]
    assert (row.status, row.filled_quantity, row.pending_quantity) == (
        "OPEN",
        truth.filled_quantity,
        truth.pending_quantity,
    )
    assert row.average_price == pytest.approx(float(truth.average_price))
    events = [event for frame in socket.frames for event in decoder.receive(frame)]
    last = events[-1]
    assert isinstance(last, OrderUpdate)
    assert last.order.instrument_token == row.instrument_token
    assert (last.order.order_id, last.order.filled_quantity, last.order.status) == (
        order_id,
        truth.filled_quantity,
        "OPEN",
    )
    assert (last.order.price, last.order.average_price) == (row.price, row.average_price)
    trades = books.parse_trades(icici.answers(books.trade_requests(icici.access, icici.now)), icici.listings())
    (trade,) = [each for each in trades if each.order_id == order_id]
    assert (trade.quantity, trade.price) == (truth.filled_quantity, pytest.approx(float(truth.average_price)))
    positions = portfolio.parse_positions(icici.answers(portfolio.position_requests(icici.access, icici.now)), {})
    held = {(row.instrument_token, row.product): row for row in positions}
    for each in icici.account.positions():
        row = held[icici.by_contract[each.instrument_id], each.product]
        assert row.quantity == each.quantity
        assert (row.average_price is None) == (each.quantity == 0)


def test_an_order_that_expires_partly_filled_is_asked_for_its_fills(icici):
    contract = icici.contract("equities")
    most = icici.account.market(contract.instrument_id).sell[0].quantity
    offer = icici.account.market(contract.instrument_id).sell[0].price
    placed = icici.place(contract, quantity=most + 7, price=offer)
    truth = icici.account.order(placed.order_id)
    expired = attrs.evolve(truth, status=SimStatus.EXPIRED)
    icici.dialect._account = ShowsInstead(icici.account, expired)
    answers = icici.answers(books.order_requests(icici.access, icici.now))
    assert len(answers) == 5
    row = next(row for row in books.parse_orders(answers, {}) if row.order_id == placed.order_id)
    assert (row.status, row.filled_quantity, row.pending_quantity) == ("EXPIRED", truth.filled_quantity, 0)
    assert row.cancelled_quantity == truth.quantity - truth.filled_quantity


class ShowsInstead:
    """An account that shows one order in another state."""

    def __init__(self, account, order):
        self._real, self._order = account, order

    def __getattr__(self, name):
        return getattr(self._real, name)

    def order(self, order_id):
        return self._order if order_id == self._order.order_id else self._real.order(order_id)

    def orders(self):
        return [self.order(each.order_id) for each in self._real.orders()]


def test_holdings_and_funds_are_the_accounts(icici):
    rows = portfolio.parse_holdings(icici.answers(portfolio.holding_requests(icici.access, icici.now)))
    truth = {icici.by_contract[each.instrument_id]: each for each in icici.account.holdings()}
    assert {row.instrument_token for row in rows} == truth.keys()
    assert any(row.t1_quantity for row in rows)
    assert any(row.collateral_quantity for row in rows)
    for row in rows:
        each = truth[row.instrument_token]
        assert row.settled_quantity == each.settled_quantity + each.collateral_quantity
        assert (row.t1_quantity, row.collateral_quantity) == (each.t1_quantity, each.collateral_quantity)
        assert row.isin == icici.account.contract(each.instrument_id).isin
        assert row.average_price == float(each.average_price)
    funds, money = (
        portfolio.parse_funds(icici.answers(portfolio.fund_requests(icici.access, icici.now))),
        icici.account.funds(),
    )
    assert funds.available_balance == pytest.approx(float(money.available), abs=0.01)
    assert funds.margin_utilized == pytest.approx(float(money.used), abs=0.01)
    assert funds.pools.keys() == {"equity", "derivatives", "currency", "commodity"}
    assert sum(funds.pools.values()) == pytest.approx(funds.available_balance)


def test_refusals_come_in_the_brokers_envelope_and_are_clear(icici):
    share, future = icici.contract("equities"), icici.contract("currency_futures")
    low = icici.account.market(share.instrument_id).lower_circuit
    assert icici.place(share, price=low + Decimal("0.01")).outcome is Outcome.REJECTED
    unknown = attrs.evolve(
        icici.ticket(share), listing=Listing(broker_token="NSE:NOBODY", tradingsymbol="", exchange="")
    )
    answer = orders.parse_order_answer(icici.send(orders.place_request(icici.access, unknown, icici.now)))
    assert (answer.outcome, answer.status_message) == (Outcome.REJECTED, "Stock code is invalid")
    assert "not allowed" in icici.place(future).status_message
    limited = orders.parse_order_answer(icici.dialect.rate_limited())
    assert (limited.outcome, limited.rate_limited) == (Outcome.REJECTED, True)
    assert orders.parse_order_answer(icici.dialect.refusal_in_200()).outcome is Outcome.REJECTED


@every_case(
    ("change", "words"),
    [
        ({"order_type": "market"}, "order_type should be either limit, stoploss"),
        ({"order_type": ""}, "order_type cannot be empty"),
        ({"product": "margin"}, "Product margin is prohibited"),
        ({"product": "futures"}, "Product should be"),
        ({"quantity": "1.5"}, "Invalid quantity"),
        ({"price": "cheap"}, "Invalid price"),
        ({"exchange_code": ""}, "Exchange-Code cannot be empty"),
        ({"exchange_code": "LSE"}, "Invalid exchange code"),
    ],
)
def test_a_body_the_broker_would_refuse_is_refused(icici, change, words):
    request = orders.place_request(icici.access, icici.ticket(icici.contract("equities")), icici.now)
    body = msgspec.json.decode(request.body) | change
    answer = orders.parse_order_answer(icici.send(wire.request(icici.access, request.kind, "POST", wire.ORDER, body)))
    assert answer.outcome is Outcome.REJECTED
    assert words in answer.status_message


def test_a_post_to_customerdetails_and_an_unknown_path_are_not_served(icici):
    assert icici.dialect.handle(icici.request("POST", f"{BASE}/breezeapi/api/v1/customerdetails")).status == 405
    assert icici.dialect.handle(icici.request("GET", f"{BASE}/breezeapi/api/v1/nothing")).status == 404
    assert icici.dialect.open_socket(icici.request("GET", f"{BASE}/nothing?EIO=4"), Wire()).status == 404
    old = icici.request("GET", f"{BASE}/livestream/socket.io/?EIO=3&transport=websocket")
    assert icici.dialect.open_socket(old, Wire()).status == 400


@pytest.mark.parametrize("positions", [None, [], ["one"], [{}], [{"stock_code": "NOBODY"}], [None]])
@pytest.mark.parametrize("exchange", ["NFO", "NSE", "LSE"])
def test_a_margin_calculation_of_nothing_is_refused(icici, positions, exchange):
    body = {"list_of_positions": positions, "exchange_code": exchange}
    answer = icici.send(wire.request(icici.access, orders.CallKind.READ, "POST", wire.MARGIN_CALCULATOR, body))
    assert wire.refusal_of(answer) is not None
