"""Shoonya's server over the real exchange, judged by the broker's page and read by our codecs; the official client judges it in
tests/sdk. The exchange's own account is the truth."""

import io
import zipfile
from datetime import datetime, timedelta
from decimal import Decimal

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onebroker.brokers.broker import Access, Login, OrderChange
from onebroker.brokers.events import Heartbeat, OrderUpdate, Ready, Reply, SessionDead, Ticks, TradeUpdate
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, NotSendable, RefusalKind, StreamAddress, WireResponse
from onebroker.brokers.shoonya import books, candles, feed, instruments, login, margins, orders, portfolio, quotes
from onebroker.brokers.shoonya.broker import SHOONYA
from onebroker.brokers.simulator.dialects.shoonya import build
from onebroker.brokers.simulator.dialects.shoonya.naming import name_of
from onebroker.config.clock import IST
from onebroker.config.instruments import Identity, Shape
from onebroker.config.vocabulary import Outcome
from tests.support.dialect_client import BASE, START, DialectClient, Wire
from tests.support.every_case import every_case

LOGIN = Login(tokens={}, user_id="", logged_in_at=0.0, expires_at=0.0)
ADDRESS = StreamAddress(url="ws://feed")


class Shoonya(DialectClient):
    """A client of the server, with and without our codecs."""

    def __init__(self, number=300):
        super().__init__(SHOONYA, build, name_of, number=number)
        self.session = self.dialect.session()

    @property
    def access(self):
        made = Login(
            tokens={"access_token": self.session["access_token"], "actid": self.session["actid"]},
            user_id=self.session["USERID"], logged_in_at=0.0, expires_at=0.0,
        )  # fmt: skip
        return Access(endpoints=self.endpoints, credentials=self.dialect.credentials, login=made)

    def call(self, name, *, bearer=None, tail="", **fields):
        """Make a call by hand; return status and JSON."""
        headers = {"Authorization": f"Bearer {bearer or self.session['access_token']}"}
        body = b"jData=" + msgspec.json.encode({"uid": self.account.client_id, **fields}) + tail.encode()
        answer = self.dialect.handle(self.request("POST", f"{self.endpoints.rest_url}/{name}", headers, body))
        return answer.status, msgspec.json.decode(answer.body)

    def open(self):
        """Open the socket and log in on it as our codec does."""
        wire = Wire()
        session = self.dialect.open_socket(self.request("GET", f"{BASE}/NorenWSAPI/"), wire)
        decoder = feed.decoder(self.access, ADDRESS, self.listings())
        for message in feed.opening_messages(self.access):
            session.received(message)
        (frame,) = wire.frames
        reply, ready = decoder.receive(frame)
        assert isinstance(reply, Reply)
        assert isinstance(ready, Ready)
        session.received(reply.message)
        assert decoder.receive(wire.frames[-1]) == [Heartbeat()]
        wire.frames.clear()
        return wire, session, decoder

    def listed(self, bare, exchange="nse", symbol=None):
        return next(
            name_of(each)
            for each in self.account.contracts()
            if each.bare == bare
            and each.identity.exchange == exchange
            and symbol in (None, each.identity.underlying_symbol)
        )

    def listing(self, name):
        return self.listings()[name.scrip]

    def buy_now(self, name, **changes):
        return self.place(name, price=self.account.market(name.contract.instrument_id).upper_circuit, **changes)


@pytest.fixture
def shoonya():
    return Shoonya()


@pytest.fixture(scope="module")
def wide():
    """Enough contracts that every commodity is listed."""
    return Shoonya(2000)


def test_a_login_goes_from_the_page_by_the_code_to_a_token_that_works_once(shoonya):
    page = shoonya.dialect.handle(shoonya.request("GET", login.login_page(shoonya.access)))
    assert page.status == 302
    flow = login.log_in(shoonya.access, page.headers["location"], shoonya.now)
    request = next(flow)
    answer = shoonya.send(request)
    with pytest.raises(StopIteration) as done:
        flow.send(answer)
    made = done.value.value
    assert made.user_id == shoonya.account.client_id
    assert made.expires_at == datetime(2026, 11, 24, 6, 0, tzinfo=IST).timestamp()
    shoonya.session = {
        "access_token": made.tokens["access_token"],
        "actid": made.tokens["actid"],
        "USERID": made.user_id,
    }
    profile = login.parse_profile(shoonya.send(login.profile_request(shoonya.access)), made)
    assert profile["actid"] == shoonya.account.client_id
    assert not {"stat", "access_token"} & profile.keys()
    again = login.log_in(shoonya.access, page.headers["location"], shoonya.now)
    next(again)
    with pytest.raises(BrokerRefusal, match="INVALID_VERIFIER"):
        again.send(shoonya.send(request))


def test_a_wrong_checksum_or_client_gets_no_token(shoonya):
    assert shoonya.call("GenAcsTok", code=shoonya.session["code"], checksum="0" * 64)[1]["emsg"].startswith("Invalid")
    page = shoonya.dialect.handle(shoonya.request("GET", f"{BASE}/OAuthlogin/authorize/oauth?client_id=other"))
    assert page.status == 400


def test_a_token_lives_until_morning_and_over_a_restart_of_the_simulator(shoonya):
    shoonya.dialect = shoonya.build()
    assert login.parse_profile(shoonya.send(login.profile_request(shoonya.access)), LOGIN)
    shoonya.wall.now += timedelta(hours=20, minutes=1).total_seconds()
    with pytest.raises(BrokerRefusal) as refusal:
        login.parse_profile(shoonya.send(login.profile_request(shoonya.access)), LOGIN)
    assert refusal.value.kind is RefusalKind.SESSION_DEAD


def test_an_expired_session_is_refused_everywhere_and_its_socket_closed_without_a_word(shoonya):
    wire, _, decoder = shoonya.open()
    shoonya.dialect.expire_session()
    assert (wire.closed, wire.frames) == ((1000, ""), [])
    status, body = shoonya.call("OrderBook")
    assert (status, body["emsg"]) == (403, "Session Expired : Invalid Session Key")
    for flow in (books.trade_requests, portfolio.position_requests, portfolio.holding_requests):
        with pytest.raises(BrokerRefusal) as refusal:
            books.parse_trades(shoonya.send_all(flow(shoonya.access, shoonya.now)), {})
        assert refusal.value.kind is RefusalKind.SESSION_DEAD
    answer = orders.parse_order_answer(shoonya.send(orders.cancel_request(shoonya.access, _row("1"), shoonya.now)))
    assert (answer.outcome, answer.session_dead) == (Outcome.REJECTED, True)
    again = Wire()
    session = shoonya.dialect.open_socket(shoonya.request("GET", f"{BASE}/NorenWSAPI/"), again)
    session.received(feed.opening_messages(shoonya.access)[0])
    assert isinstance(decoder.receive(again.frames[0])[0], SessionDead)


def test_a_call_in_another_name_is_a_dead_session(shoonya):
    status, body = shoonya.call("Limits", uid="SOMEBODY")
    assert (status, body["emsg"]) == (403, "Session Expired :  Invalid User Id")


def _row(order_id):
    row = {
        "norenordno": order_id, "status": "OPEN", "exch": "NSE", "token": "1", "qty": "1", "tsym": "X-EQ", "prd": "C",
        "prctyp": "LMT", "ret": "DAY",
    }  # fmt: skip
    return books.order_row(row, "NSE|1", {})


def test_the_instrument_files_name_every_contract_as_the_exchange_knows_it(wide):
    rows = {row["broker_token"]: row for row in wide.frame().rows(named=True)}
    names = [name for name in map(name_of, wide.account.contracts()) if name is not None]
    assert set(rows) == {name.scrip for name in names}
    assert {name.exchange for name in names} == {"NSE", "BSE", "NFO", "BFO", "CDS", "MCX", "NCX"}
    for name in names:
        contract, row = name.contract, rows[name.scrip]
        shape = Shape.SECURITY if row["symbol"] else Shape.OPTION if row["option_type"] else Shape.FUTURE
        identity = Identity(
            row["exchange"], f"{row['exchange']}_{row['segment']}", shape, row["symbol"], row["underlying_symbol"],
            row["expiry_date"], row["strike_price"], row["option_type"],
        )  # fmt: skip
        assert identity.instrument_id == contract.instrument_id
        if not contract.is_index:
            assert (row["lot_size"], row["tick_size"]) == (contract.lot_size, float(contract.tick_size))
            assert (row["freeze_quantity"], row["isin"]) == (None, None)
            told = Decimal(row["other_names"]) if row["other_names"] else row["contract_units"]
            assert told == name.factor


def test_every_file_is_a_zip_whose_lines_end_with_a_comma(shoonya):
    answers = shoonya.send_all(instruments.file_requests(shoonya.access, shoonya.now))
    assert len(answers) == 7
    for answer in answers:
        packed = zipfile.ZipFile(io.BytesIO(answer.body))
        lines = packed.read(packed.namelist()[0]).decode().splitlines()
        assert lines[0].startswith("Exchange,Token,LotSize,")
        assert all(line.endswith(",") for line in lines)


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
    unknown = orders.parse_order_answer(shoonya.send(orders.cancel_request(shoonya.access, _row("99"), shoonya.now)))
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


def test_quotes_are_the_market_in_units_and_of_the_instrument_asked_for(wide):
    for name in (
        wide.listed("equities"), wide.listed("equity_indices"), wide.listed("currency_futures"),
        wide.listed("commodity_futures", "mcx", "GOLDM"),
    ):  # fmt: skip
        listing, market = wide.listing(name), wide.account.market(name.contract.instrument_id)
        answer = wide.send(quotes.quote_request(wide.access, [listing]))
        tick = quotes.parse_quotes(answer, [listing])[name.scrip]
        assert (tick.last_price, tick.previous_close) == (float(market.last_price), float(market.previous_close))
        if name.contract.is_index:
            assert (tick.buy, tick.volume) == (None, None)
        else:
            assert [level.quantity for level in tick.buy] == [level.quantity for level in market.buy]
            assert [level.orders for level in tick.sell] == [level.orders for level in market.sell]
            assert tick.last_trade_time == int(market.last_trade_time)
    other = msgspec.structs.replace(listing, broker_token="MCX|1")
    with pytest.raises(BadAnswer):
        quotes.parse_quotes(answer, [other])
    renamed = msgspec.structs.replace(listing, tradingsymbol="OTHER")
    with pytest.raises(BadAnswer):
        quotes.parse_quotes(answer, [renamed])
    nobody = wide.send(quotes.quote_request(wide.access, [other]))
    assert quotes.parse_quotes(nobody, [other]) == {}


@pytest.mark.parametrize(
    ("bare", "exchange"), [("equities", "nse"), ("equity_indices", "nse"), ("currency_futures", "nse")]
)
def test_candles_are_those_of_the_exchange_oldest_first(shoonya, bare, exchange):
    shoonya.keep_candles()
    name, today = shoonya.listed(bare, exchange), START.date()
    listing = shoonya.listing(name)
    for interval, first in (("day", today - timedelta(days=40)), ("15minute", today - timedelta(days=2))):
        requests = candles.candle_requests(shoonya.access, listing, interval, first, today)
        rows = candles.parse_candles(shoonya.send_all(requests), listing)
        truth = shoonya.account.candles(name.contract.instrument_id, interval, first, today)
        assert [row.start for row in rows] == [one[0] for one in truth]
        assert [row.close for row in rows] == pytest.approx([one[4] for one in truth], abs=0.01)
        assert [row.volume for row in rows] == [int(one[5] / name.factor) * int(name.factor) for one in truth]
        answer = shoonya.send(requests[0])
        assert isinstance(msgspec.json.decode(answer.body)[0], str if interval == "day" else dict)


def test_candles_take_the_token_in_the_header_or_in_the_body(shoonya):
    name, token = shoonya.listed("equities"), shoonya.session["access_token"]
    fields = {"exch": name.exchange, "token": name.token, "intrv": "5"}
    assert isinstance(shoonya.call("TPSeries", **fields)[1], list)
    assert isinstance(shoonya.call("TPSeries", bearer="dead", tail=f"&jKey={token}", **fields)[1], list)
    assert shoonya.call("TPSeries", bearer="dead", **fields)[0] == 403
    assert shoonya.call("Limits", bearer="dead", tail=f"&jKey={token}")[0] == 403


def test_a_range_that_is_too_long_is_answered_by_the_gateway(shoonya):
    name = shoonya.listed("equities")
    headers = {"Authorization": f"Bearer {shoonya.session['access_token']}"}
    body = f'jData={{"exch":"NSE","token":"{name.token}","st":"0","et":"{int(START.timestamp())}"}}'.encode()
    answer = shoonya.dialect.handle(shoonya.request("POST", f"{shoonya.endpoints.rest_url}/TPSeries", headers, body))
    assert (answer.status, answer.body[:6]) == (504, b"<html>")
    with pytest.raises(BadAnswer):
        candles.parse_candles([answer], shoonya.listing(name))


def test_the_socket_tells_a_whole_snapshot_and_then_only_what_changed(wide):
    share, gold = wide.listed("equities"), wide.listed("commodity_futures", "mcx", "GOLD")
    index = wide.listed("equity_indices")
    wire, session, decoder = wide.open()
    (request,) = feed.subscribe_messages(wide.access, [wide.listing(name) for name in (share, gold, index)])
    session.received(request)
    assert [frame["t"] for frame in wire.messages] == ["dk", "dk", "dk"]
    ticks = {}
    for frame in wire.frames:
        (event,) = decoder.receive(frame)
        assert isinstance(event, Ticks)
        ticks[event.ticks[0].broker_token] = event.ticks[0]
    assert ticks.keys() == {share.scrip, gold.scrip, index.scrip}
    wire.frames.clear()
    gold_id = gold.contract.instrument_id
    wide.exchange.set_price(gold_id, wide.account.market(gold_id).last_price + 5)
    session.markets_moved(frozenset({gold_id, "nobody"}))
    (change,) = wire.messages
    assert change["t"] == "df"
    assert change.keys() & {"pp", "ls", "ts", "c", "uc"} == set()
    ((tick,),) = [event.ticks for event in decoder.receive(wire.frames[0])]
    market = wide.account.market(gold.contract.instrument_id)
    assert (tick.broker_token, tick.last_price, tick.open) == (gold.scrip, float(market.last_price), float(market.open))
    assert [level.quantity for level in tick.sell] == [level.quantity for level in market.sell]
    assert [level.price for level in tick.buy] == [float(level.price) for level in market.buy]
    assert (tick.volume, tick.oi) == (market.volume // 100 * 100, market.oi // 100 * 100)
    session.received(feed.unsubscribe_messages(wide.access, [wide.listing(gold)])[0])
    assert decoder.receive(wire.frames[-1]) == [Heartbeat()]
    session.markets_moved(frozenset({gold.contract.instrument_id}))
    assert len(wire.frames) == 2
    session.received(feed.ping_message())
    assert decoder.receive(wire.frames[-1]) == [Heartbeat()]


def test_nothing_is_told_before_the_login_and_no_more_than_a_hundred_scrips_after(wide):
    wire = Wire()
    session = wide.dialect.open_socket(wide.request("GET", f"{BASE}/NorenWSAPI/"), wire)
    listings = list(wide.listings().values())[:130]
    for message in feed.subscribe_messages(wide.access, listings):
        session.received(message)
    session.received('{"t":"o"}')
    assert wire.frames == []
    wire, session, _ = wide.open()
    for message in feed.subscribe_messages(wide.access, listings):
        session.received(message)
    assert len({frame["tk"] for frame in wire.messages}) == 100


def test_touchline_is_less_than_depth_and_the_former_connect_frame_is_known(shoonya):
    wire = Wire()
    session = shoonya.dialect.open_socket(shoonya.request("GET", f"{BASE}/NorenWSAPI/"), wire)
    old = {"t": "c", "uid": shoonya.account.client_id, "susertoken": shoonya.session["access_token"]}
    session.received(msgspec.json.encode(old))
    assert wire.messages[-1] == {"t": "ck", "s": "OK", "uid": shoonya.account.client_id}
    share = shoonya.listed("equities")
    session.received(msgspec.json.encode({"t": "t", "k": share.scrip}))
    touchline = wire.messages[-1]
    assert touchline["t"] == "tk"
    assert {"lp", "bp1", "sq1", "v"} <= touchline.keys()
    assert not {"bp2", "ltq", "tbq"} & touchline.keys()


def test_orders_are_told_only_to_who_asked(shoonya):
    wire = Wire()
    session = shoonya.dialect.open_socket(shoonya.request("GET", f"{BASE}/NorenWSAPI/"), wire)
    session.received(feed.opening_messages(shoonya.access)[0])
    placed = shoonya.place(shoonya.listed("equities"))
    session.order_changed(shoonya.account.order(placed.order_id), None)
    assert len(wire.frames) == 1
    session.received('{"t":"o"}')
    session.order_changed(shoonya.account.order(placed.order_id), None)
    assert wire.messages[-1]["t"] == "om"
    session.received('{"t":"uo"}')
    session.order_changed(shoonya.account.order(placed.order_id), None)
    assert wire.messages[-1]["t"] == "uok"


def test_an_unknown_call_and_a_wrong_method_are_told_apart(shoonya):
    assert shoonya.call("Nothing")[0] == 404
    assert shoonya.dialect.handle(shoonya.request("GET", f"{shoonya.endpoints.rest_url}/Limits")).status == 405
    refused = shoonya.dialect.open_socket(shoonya.request("GET", f"{BASE}/elsewhere"), Wire())
    assert refused.status == 404


TEXTS = st.one_of(
    st.text(max_size=12), st.sampled_from(["NSE", "MCX", "LMT", "B", "C", "DAY", "1e999", "NaN", "-1", "٣"])
)
CALLS = (
    "GenAcsTok", "UserDetails", "PlaceOrder", "ModifyOrder", "CancelOrder", "OrderBook", "SingleOrdHist", "TradeBook",
    "PositionBook", "Holdings", "Limits", "GetOrderMargin", "GetQuotes", "SearchScrip", "TPSeries", "EODChartData", "Logout",
)  # fmt: skip
FIELDS = (
    "exch", "tsym", "token", "qty", "dscqty", "prc", "trgprc", "prd", "trantype", "prctyp", "ret", "norenordno", "st", "et",
    "from", "to", "intrv", "sym", "stext", "checksum", "code",
)  # fmt: skip


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    call=st.sampled_from(CALLS),
    fields=st.dictionaries(st.sampled_from(FIELDS), st.one_of(TEXTS, st.integers(), st.none(), st.lists(st.none()))),
    spoil=st.one_of(st.none(), st.binary(max_size=20)),
)
def test_no_call_makes_the_server_fail(wide, call, fields, spoil):
    token = "dead" if call == "Logout" else wide.session["access_token"]
    body = spoil if spoil is not None else b"jData=" + msgspec.json.encode(fields)
    headers = {"Authorization": f"Bearer {token}"}
    answer = wide.dialect.handle(wide.request("POST", f"{wide.endpoints.rest_url}/{call}", headers, body))
    assert isinstance(answer, WireResponse)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    message=st.one_of(
        st.binary(max_size=40),
        st.text(max_size=40),
        st.fixed_dictionaries(
            {"t": st.sampled_from(["a", "c", "t", "d", "u", "ud", "o", "uo", "h", "x"])},
            optional={"k": st.one_of(TEXTS, st.none()), "uid": TEXTS, "accesstoken": TEXTS},
        ).map(lambda frame: msgspec.json.encode(frame).decode()),
    )
)
def test_no_frame_makes_the_socket_fail(wide, message):
    _, session, _ = wide.open()
    session.received(message)
    session.beat()
