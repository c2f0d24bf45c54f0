"""5paisa's server over the real exchange, judged by its documentation and read by our codecs; the official SDK judges it in
tests/sdk."""

import gzip
from datetime import date, datetime, timedelta
from decimal import Decimal
from urllib.parse import parse_qsl, urlsplit

import attrs
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onebroker.brokers.broker import OrderChange, OrderTicket
from onebroker.brokers.events import CorruptFrame, OrderUpdate, Ticks, TradeUpdate
from onebroker.brokers.fivepaisa import books, candles, feed, login, orders, portfolio, quotes
from onebroker.brokers.fivepaisa.broker import FIVEPAISA
from onebroker.brokers.requests import BrokerRefusal, NotSendable, RefusalKind, StreamAddress, WireResponse
from onebroker.brokers.simulator.dialects.fivepaisa import build
from onebroker.brokers.simulator.dialects.fivepaisa.naming import name_of
from onebroker.config.calendars import calendar_from_documents
from onebroker.config.clock import IST
from onebroker.config.exchange_documents import exchange_documents
from tests.support.dialect_client import START, DialectClient, Wire
from tests.support.every_case import every_case


class Fivepaisa(DialectClient):
    """A client of the server, with and without our codecs."""

    def __init__(self, start=START, calendar=None):
        super().__init__(FIVEPAISA, build, name_of, start=start, calendar=calendar)
        self.access = self.logged_in()

    def logged_in(self):
        return attrs.evolve(self.bare, login=self.result(login.log_in(self.bare, "", self.now)))

    def post(self, path, body, key=None, token=None):
        token = self.access.token("AccessToken") if token is None else token
        headers = {"Authorization": f"bearer {token}"} if token else {}
        message = {"head": {"key": key or self.dialect.credentials["user_key"]}, "body": body}
        url = f"{self.bare.endpoints.rest_url}{path}"
        answer = self.dialect.handle(self.request("POST", url, headers, msgspec.json.encode(message)))
        assert answer.status == 200
        return answer

    def open(self, token=None, client="52345678"):
        wire = Wire()
        token = token or self.access.token("AccessToken")
        url = f"{self.bare.endpoints.stream_url.replace('ws://', 'http://')}?Value1={token}%7C{client}"
        return wire, self.dialect.open_socket(self.request("GET", url), wire)

    def market(self, name):
        return self.account.market(name.contract.instrument_id)

    def price(self, name, percent):
        tick = name.contract.tick_size
        return (self.market(name).last_price * (100 + percent) / 100 / tick).quantize(Decimal(1)) * tick

    def ticket(self, name, **changes):
        listing = self.listings()[":".join(name.key)]
        fields = {
            "listing": listing, "segment": name.contract.identity.segment, "transaction_type": "BUY",
            "product": "CNC" if name.is_cash else "NRML", "order_type": "LIMIT", "validity": "DAY",
            "quantity": name.contract.lot_size * 2, "price": self.price(name, -3), "token": "obtoken1", **changes,
        }  # fmt: skip
        return OrderTicket(**fields)

    def place(self, name, **changes):
        return orders.parse_order_answer(
            self.send(orders.place_request(self.access, self.ticket(name, **changes), START))
        )

    def book(self):
        return {row.order_id: row for row in books.parse_orders(self.answers(books.order_requests(self.access, START)), self.listings())}  # fmt: skip

    def newest(self):
        return self.account.orders()[-1]


@pytest.fixture
def broker():
    return Fivepaisa()


# --- the login -----------------------------------------------------------------------------------------------------------


def test_a_login_outlives_a_restart_and_ends_at_23_59(broker):
    made = broker.access.login
    assert made.user_id == "52345678"
    assert made.profile["ClientName"] == "ASHA VERMA"
    assert datetime.fromtimestamp(made.expires_at, IST) == START.replace(hour=23, minute=59)
    claims = login.claims(made.tokens["AccessToken"])
    assert (claims["unique_name"], claims["RedirectServer"], claims["exp"]) == ("52345678", "C", made.expires_at)
    broker.dialect = broker.build()
    assert broker.send(login.profile_request(broker.access)).status == 200
    broker.wall.now = made.expires_at + 1
    with pytest.raises(BrokerRefusal) as dead:
        login.parse_profile(broker.send(login.profile_request(broker.access)), made)
    assert dead.value.kind is RefusalKind.SESSION_DEAD


@pytest.mark.parametrize(
    ("key", "value", "kind"),
    [
        ("pin", "1", RefusalKind.BAD_CREDENTIALS), ("client_code", "1", RefusalKind.BAD_CREDENTIALS),
        ("user_key", "1", RefusalKind.BAD_CREDENTIALS), ("encryption_key", "1", RefusalKind.BAD_CREDENTIALS),
        ("user_id", "1", RefusalKind.BAD_CREDENTIALS), ("totp_secret", "GEZDGNBVGY3TQOJQ", RefusalKind.BAD_TOTP),
    ],
)  # fmt: skip
def test_every_wrong_key_of_a_login_is_refused_for_what_it_is(broker, key, value, kind):
    broker.bare = attrs.evolve(broker.bare, credentials={**broker.dialect.credentials, key: value})
    with pytest.raises(BrokerRefusal) as refused:
        broker.logged_in()
    assert refused.value.kind is kind


def test_a_code_of_another_minute_is_refused(broker):
    flow = login.log_in(broker.bare, "", broker.clock.now() - timedelta(minutes=2))
    with pytest.raises(BrokerRefusal) as refused:
        flow.send(broker.send(next(flow)))
    assert refused.value.kind is RefusalKind.BAD_TOTP


def test_the_page_sends_a_person_back_with_a_request_token_that_is_good_once(broker):
    credentials = broker.dialect.credentials
    url = f"{broker.bare.endpoints.login_url}?VendorKey={credentials['user_key']}&ResponseURL=https://me/back&State=7"
    answer = broker.dialect.handle(broker.request("GET", url))
    query = dict(parse_qsl(urlsplit(answer.headers["location"]).query))
    assert (answer.status, query["state"]) == (302, "7")
    body = {
        "RequestToken": query["RequestToken"], "EncryKey": credentials["encryption_key"], "UserId": credentials["user_id"],
    }  # fmt: skip
    said = [msgspec.json.decode(broker.post("GetAccessToken", body, token="").body)["body"] for _ in range(2)]
    assert [each["Status"] for each in said] == [0, 2]
    assert broker.dialect.handle(broker.request("GET", broker.bare.endpoints.login_url)).status == 400


def test_who_may_not_call_is_told_in_the_documented_ways(broker):
    client = {"ClientCode": "52345678"}
    assert broker.post("V4/Margin", client, token=" ").body == b"Invalid Token"
    for token in ("dead", "a.b.c", broker.access.token("AccessToken") + "x", "ü.ü.ü"):
        assert msgspec.json.decode(broker.post("V4/Margin", client, token=token).body)["body"]["Status"] == 9
    key = msgspec.json.decode(broker.post("V4/Margin", client, key="nobody").body)
    assert (key["head"]["status"], key["body"]) == ("2", None)
    other = msgspec.json.decode(broker.post("V4/Margin", {"ClientCode": "5"}).body)
    assert other["body"]["Status"] == 2
    broker.dialect.expire_session()
    assert msgspec.json.decode(broker.post("V4/Margin", client).body)["body"]["Status"] == 9


def test_minted_tokens_are_good(broker):
    minted = broker.dialect.session()
    assert b'"Status":0' in broker.post("V4/Margin", {"ClientCode": "52345678"}, token=minted["AccessToken"]).body


# --- the books -----------------------------------------------------------------------------------------------------------


def test_an_orders_life_is_the_exchanges(broker):
    share = broker.listed("equities")
    answer = broker.place(share)
    sim = broker.newest()
    assert (answer.outcome, answer.order_id) == ("accepted", sim.order_id)
    assert (sim.quantity, sim.new.tag, sim.price) == (2, "obtoken1", broker.price(share, -3))
    row = broker.book()[answer.order_id]
    assert (row.status, row.tag, row.exchange_order_id) == ("OPEN", "obtoken1", sim.exchange_order_id)
    listing = broker.listings()[":".join(share.key)]
    change = OrderChange(row=row, listing=listing, segment="nse_equities", quantity=5, price=broker.price(share, -2))
    assert (
        orders.parse_order_answer(broker.send(orders.modify_request(broker.access, change, START))).order_id
        == row.order_id
    )
    assert (broker.newest().quantity, broker.newest().price) == (5, broker.price(share, -2))
    assert broker.book()[answer.order_id].quantity == 5
    cancel = orders.cancel_request(broker.access, broker.book()[answer.order_id], START)
    assert orders.parse_order_answer(broker.send(cancel)).outcome == "accepted"
    assert broker.newest().status == "cancelled"
    assert broker.book()[answer.order_id].status == "CANCELLED"
    late = orders.parse_order_answer(broker.send(cancel))
    assert (late.outcome, "already cancelled" in late.status_message) == ("rejected", True)


def test_a_fill_is_in_the_books_and_the_positions(broker):
    share = broker.listed("equities")
    answer = broker.place(share, price=broker.price(share, 2))
    row = broker.book()[answer.order_id]
    assert (row.status, row.filled_quantity, row.average_price > 0) == ("COMPLETE", 2, True)
    trades = books.parse_trades(broker.answers(books.trade_requests(broker.access, START)), broker.listings())
    assert sum(trade.quantity for trade in trades if trade.order_id == answer.order_id) == 2
    rows = portfolio.parse_positions(
        broker.answers(portfolio.position_requests(broker.access, START)), broker.listings()
    )
    bought = {row.view: row for row in rows if row.instrument_token == ":".join(share.key)}
    assert (bought["net"].quantity, bought["day"].buy_quantity, bought["net"].product) == (2, 2, "CNC")
    assert bought["net"].average_price == pytest.approx(row.average_price)


def test_contracts_are_ordered_and_shown_in_units(broker):
    for bare, exchange in (("commodity_futures", "mcx"), ("currency_futures", "nse"), ("equity_index_futures", "nse")):
        name = broker.listed(bare, exchange)
        answer = broker.place(name)
        assert broker.newest().quantity == broker.book()[answer.order_id].quantity == 2 * name.contract.lot_size


def test_a_stop_waits_and_is_triggered(broker):
    share = broker.listed("equities")
    wire, session = broker.open()
    decoder = feed.decoder(broker.access, StreamAddress(url=""), broker.listings())
    broker.exchange.listen("fivepaisa", session.order_changed)
    answer = broker.place(share, order_type="SL", trigger_price=broker.price(share, 2), price=broker.price(share, 4))
    assert broker.newest().status == "trigger_pending"
    assert broker.book()[answer.order_id].status == "PENDING"
    broker.exchange.set_price(share.contract.instrument_id, broker.price(share, 3), 60)
    assert broker.newest().status == "complete"
    row = broker.book()[answer.order_id]
    assert (row.status, row.order_type) == ("COMPLETE", "SL")
    told = [event for frame in wire.frames for event in decoder.receive(frame)]
    updates = [event.order for event in told if isinstance(event, OrderUpdate)]
    assert [updates[0].status, updates[-1].status] == ["PENDING", "COMPLETE"]
    assert {update.order_id for update in updates} == {answer.order_id}
    assert updates[-1].average_price == pytest.approx(row.average_price, abs=0.001)


def test_refused_orders_are_refused_in_a_200(broker):
    share = broker.listed("equities")
    before = len(broker.account.orders())
    off_tick = broker.place(share, price=broker.price(share, -3) + Decimal("0.01"))
    assert (off_tick.outcome, "tick" in off_tick.status_message) == ("rejected", True)
    market = broker.post(
        "V1/PlaceOrderRequest",
        {
            "ClientCode": "52345678", "OrderType": "Buy", "Exchange": "N", "ExchangeType": "C",
            "ScripData": share.scrip_data, "Price": 0, "Qty": "1",
        },
    )  # fmt: skip
    assert orders.parse_order_answer(market).status_message == "Market order with Algo Id not allowed"
    assert len(broker.account.orders()) == before
    banned = broker.place(share, price=broker.price(share, -60))
    said = msgspec.json.decode(msgspec.json.encode(banned.broker_response))["body"]
    assert (banned.outcome, said["Status"], said["BrokerOrderID"] != 0) == ("rejected", 1, True)
    row = broker.book()[str(said["BrokerOrderID"])]
    assert (row.status, bool(row.status_message)) == ("REJECTED", True)


@every_case(
    "body",
    [
        {}, {"Exchange": "N", "ExchangeType": "C", "ScripCode": "none"},
        *(
            {"Exchange": "N", "ExchangeType": "C", "ScripCode": 1001, "OrderType": "B", "Price": 100, "Qty": 1, **more}
            for more in (
                {"OrderType": "X"}, {"Qty": "many"}, {"Qty": -1}, {"Qty": 1.5}, {"Price": "NaN"}, {"Price": 1e300},
                {"iOrderValidity": "6"}, {"Price": True}, {"DisQty": []},
            )
        ),
    ],
)  # fmt: skip
def test_bodies_that_cannot_be_read_are_refused_as_bad_input(broker, body):
    before = len(broker.account.orders())
    answer = orders.parse_order_answer(broker.post("V1/PlaceOrderRequest", {"ClientCode": "52345678", **body}))
    assert (answer.outcome, bool(answer.status_message)) == ("rejected", True)
    assert len(broker.account.orders()) == before


def test_an_order_is_asked_for_by_our_own_number(broker):
    broker.place(broker.listed("equities"))
    asked = {"ClientCode": "52345678", "OrdStatusReqList": [{"Exch": "N", "RemoteOrderID": "obtoken1"}]}
    (row,) = msgspec.json.decode(broker.post("V3/OrderStatus", asked).body)["body"]["OrdStatusResLst"]
    assert (row["ExchOrderID"], row["Status"]) == (int(broker.newest().exchange_order_id), "Pending")
    nothing = broker.post(
        "V2/OrderStatus", asked | {"OrdStatusReqList": [{"Exch": "B", "RemoteOrderID": "obtoken1"}, 5]}
    )
    assert msgspec.json.decode(nothing.body)["body"]["OrdStatusResLst"] == []


def test_after_hours_orders_wait_without_a_number_of_the_exchange():
    calendar = calendar_from_documents(exchange_documents())
    broker = Fivepaisa(START.replace(hour=17, minute=30), calendar)
    share = broker.listed("equities")
    closed = broker.place(share)
    assert (closed.outcome, closed.status_message) == ("rejected", "Exchange is closed. Cannot place your order.")
    answer = broker.place(share, after_market=True)
    row = broker.book()[answer.order_id]
    assert (broker.newest().status, row.status, row.exchange_order_id) == ("after_market", "PENDING", None)
    with pytest.raises(NotSendable):
        orders.cancel_request(broker.access, row, START)


def test_holdings_and_funds_are_the_accounts(broker):
    rows = portfolio.parse_holdings(broker.answers(portfolio.holding_requests(broker.access, START)))
    held = {":".join(name_of(broker.account.contract(one.instrument_id)).key): one for one in broker.account.holdings()}
    assert {row.instrument_token: row.settled_quantity + row.t1_quantity for row in rows} == {
        token: one.total_quantity for token, one in held.items()
    }
    assert {row.instrument_token: row.t1_quantity for row in rows} == {
        token: one.t1_quantity for token, one in held.items()
    }
    funds = portfolio.parse_funds(broker.answers(portfolio.fund_requests(broker.access, START)))
    assert funds.available_balance == pytest.approx(float(broker.account.funds().available))
    assert funds.cash_balance + funds.collateral_value - funds.margin_utilized == pytest.approx(funds.available_balance)


# --- market data ---------------------------------------------------------------------------------------------------------


def test_the_file_comes_gzipped_to_whom_takes_it_so_and_by_segment(broker):
    url = broker.bare.endpoints.instruments_url
    packed = broker.dialect.handle(broker.request("GET", url, {"Accept-Encoding": "gzip"}))
    plain = broker.dialect.handle(broker.request("GET", url))
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed.body) == plain.body
    for word in ("all", "nse_eq", "mcx_fo"):
        part = broker.dialect.handle(broker.request("GET", url.replace("All", word)))
        assert part.body.splitlines()[0].startswith(b"Exch,ExchType,ScripCode")
    assert broker.dialect.handle(broker.request("GET", url.replace("All", "lse"))).status == 404


def test_quotes_are_those_of_the_market_and_too_many_come_back_empty(broker):
    names = [broker.listed("equities"), broker.listed("equity_index_futures"), broker.listed("currency_futures")]
    listings = broker.listings()
    asked = [listings[":".join(name.key)] for name in names]
    ticks = quotes.parse_quotes(broker.send(quotes.quote_request(broker.access, asked)), asked)
    for name, listing in zip(names, asked, strict=True):
        tick, market = ticks[listing.broker_token], broker.market(name)
        assert (tick.last_price, tick.volume) == (float(market.last_price), market.volume)
    many = list(listings.values())[:60]
    assert quotes.parse_quotes(broker.send(quotes.quote_request(broker.access, many)), many) == {}


def test_candles_come_under_a_live_token_for_half_a_year_at_most(broker):
    listing = broker.listings()[":".join(broker.listed("equities").key)]
    today = date(2026, 11, 23)
    calls = candles.candle_requests(broker.access, listing, "day", today - timedelta(days=30), today)
    assert len(candles.parse_candles([broker.send(one) for one in calls], listing)) > 10
    calls = candles.candle_requests(broker.access, listing, "15minute", today - timedelta(days=400), today)
    assert len(calls) == 3
    (whole,) = candles.candle_requests(broker.access, listing, "15minute", today, today)
    long = attrs.evolve(whole, url=whole.url.replace("from=2026", "from=2025"))
    with pytest.raises(BrokerRefusal, match="6 months"):
        candles.parse_candles([broker.send(long)], listing)
    broker.dialect.expire_session()
    with pytest.raises(BrokerRefusal) as dead:
        candles.parse_candles([broker.send(whole)], listing)
    assert dead.value.kind is RefusalKind.SESSION_DEAD


def test_one_socket_carries_quotes_depth_open_interest_and_orders(broker):
    listings = broker.listings()
    share, future = broker.listed("equities"), broker.listed("equity_index_futures")
    wire, session = broker.open()
    broker.exchange.listen("fivepaisa", session.order_changed)
    decoder = feed.decoder(broker.access, StreamAddress(url=""), listings)
    wanted = [listings[":".join(name.key)] for name in (share, future)]
    for message in feed.opening_messages(broker.access):
        session.received(message)
    for message in feed.subscribe_messages(broker.access, wanted):
        session.received(message)
    events = [event for frame in wire.frames for event in decoder.receive(frame)]
    ticks = {tick.broker_token: tick for event in events if isinstance(event, Ticks) for tick in event.ticks}
    for name in (share, future):
        tick, market = ticks[":".join(name.key)], broker.market(name)
        assert (tick.last_price, tick.open, tick.volume) == (
            float(market.last_price),
            float(market.open),
            market.volume,
        )
        assert [level.quantity for level in tick.buy] == [level.quantity for level in market.buy]
        assert tick.oi == (None if name is share else market.oi)
    wire.frames.clear()
    broker.place(share, price=broker.price(share, 2))
    told = [event for frame in wire.frames for event in decoder.receive(frame)]
    assert [type(event) for event in told[:3]] == [OrderUpdate, TradeUpdate, OrderUpdate]
    assert told[-1].order.status == "COMPLETE"
    for message in feed.unsubscribe_messages(broker.access, wanted):
        session.received(message)
    wire.frames.clear()
    session.markets_moved(frozenset(name.contract.instrument_id for name in (share, future)))
    assert wire.frames == []


def test_a_second_connection_ends_the_first_and_a_dead_token_opens_none(broker):
    first, _ = broker.open()
    second, session = broker.open()
    assert (first.closed, second.closed) == ((1000, ""), None)
    session.received("PING")
    assert second.frames == ["PONG"]
    refused = broker.open(client="5")[1]
    assert isinstance(refused, WireResponse)
    assert refused.status == 401
    broker.dialect.expire_session()
    assert second.closed == (1000, "")
    assert broker.open()[1].status == 401


@every_case("message", ["", "{", "[]", "5", b"\xff", '{"Method":"MarketFeedV3"}', '{"Method":5,"MarketFeedData":[5]}', "[" * 3000])  # fmt: skip
def test_no_message_ends_the_connection(broker, message):
    wire, session = broker.open()
    session.received(message)
    assert (wire.closed, wire.frames) == (None, [])


# --- any input -----------------------------------------------------------------------------------------------------------

PATHS = [
    "TOTPLogin", "GetAccessToken", "V1/PlaceOrderRequest", "V1/ModifyOrderRequest", "V1/CancelOrderRequest", "V3/OrderBook",
    "V3/OrderStatus", "V1/TradeBook", "V4/Margin", "MarketSnapshot", "V1/MarketFeed", "V2/MarketDepth", "MarketStatus",
    "MultiOrderMargin", "None",
]  # fmt: skip
FIELDS = [
    "ExchOrderID", "Orders", "Exch", "ExchType", "Exchange", "ExchangeType", "ScripCode", "ScripData", "Price", "Qty", "OrderType", "StopLossPrice", "Data",
    "MarketFeedData", "OrdStatusReqList", "RequestToken", "EncryKey", "UserId", "TOTP", "PIN", "Email_ID", "iOrderValidity",
]  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2**60) | st.floats(allow_nan=False) | st.text(max_size=5) | st.sampled_from(["N", "C", 1001, "B"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=st.sampled_from(PATHS), body=st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=8), raw=st.none() | st.binary(max_size=60))  # fmt: skip
def test_no_call_makes_it_raise(shared, path, body, raw):
    key = shared.dialect.credentials["user_key"]
    message = msgspec.json.encode({"head": {"key": key}, "body": {**body, "ClientCode": "52345678"}})
    headers = {"Authorization": f"bearer {shared.access.token('AccessToken')}"}
    url = f"{shared.bare.endpoints.rest_url}/{path}"
    answer = shared.dialect.handle(shared.request("POST", url, headers, message if raw is None else raw))
    assert answer.status in (200, 400, 404, 405)
    assert orders.parse_order_answer(answer).outcome in ("accepted", "rejected", "unknown")


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(message=st.binary(max_size=60) | st.dictionaries(st.sampled_from(["Method", "Operation", "ClientCode", "MarketFeedData"]), VALUES | st.sampled_from(["MarketFeedV3", "Subscribe", "52345678"]), max_size=4).map(msgspec.json.encode))  # fmt: skip
def test_no_socket_message_makes_it_raise(shared, message):
    wire, session = shared.open()
    session.received(message)
    session.received(message.decode("utf-8", "replace"))
    decoder = feed.decoder(shared.access, StreamAddress(url=""), {})
    assert not any(isinstance(event, CorruptFrame) for frame in wire.frames for event in decoder.receive(frame))


@pytest.fixture(scope="module")
def shared():
    return Fivepaisa()
