"""Kite's server over the real exchange, judged by what Kite's documentation says; the official SDK judges it in tests/sdk."""

import hashlib
import struct
from datetime import date, datetime, timedelta
from urllib.parse import parse_qs, urlencode, urlsplit

import attrs
import msgspec
import pytest

from onebroker.brokers.simulator.dialects.dialect import DialectRequest
from onebroker.brokers.simulator.dialects.zerodha import build
from onebroker.brokers.simulator.dialects.zerodha.naming import name_of
from onebroker.brokers.simulator.exchange.exchange import Exchange
from onebroker.brokers.simulator.exchange.faults import Faults
from onebroker.brokers.simulator.exchange.journal import MemoryJournal
from onebroker.config.calendars import always_open
from onebroker.config.clock import IST, Clock
from onebroker.config.instruments import future, option
from tests.support.dialect_client import BASE, Wall, Wire
from tests.support.every_case import every_case


class Kite:
    """A client that knows only the documentation."""

    def __init__(self):
        self.wall = Wall()
        self.clock = Clock(wall=self.wall)
        self.journal = MemoryJournal()
        self.start()

    def start(self):
        self.exchange = Exchange(
            brokers=("zerodha",), number=300, seed=1, calendar=always_open(), clock=self.clock, journal=self.journal,
            faults=Faults(self.clock),
        )  # fmt: skip
        self.account = self.exchange.account("zerodha")
        self.dialect = build(self.account, self.exchange.tokens("zerodha"), self.clock, 1)
        self.key, self.secret = self.dialect.credentials["api_key"], self.dialect.credentials["api_secret"]
        self.token = self.dialect.session()["access_token"]

    def call(self, method, path, form=None, query=(), token=None):
        headers = {"authorization": f"token {self.key}:{token or self.token}"}
        body = urlencode(form or {}).encode()
        answer = self.dialect.handle(
            DialectRequest(method=method, base=BASE, path=path, query=tuple(query), headers=headers, body=body)
        )
        if answer.headers.get("content-type") == "application/json":
            return answer.status, msgspec.json.decode(answer.body)
        return answer.status, answer

    def data(self, method, path, form=None, query=()):
        status, body = self.call(method, path, form, query)
        assert status == 200, body
        assert body["status"] == "success"
        return body["data"]

    def listed(self, pick):
        return next(name for each in self.account.contracts() if pick(each) and (name := name_of(each)))

    @property
    def share(self):
        return self.listed(lambda each: each.bare == "equities" and each.identity.exchange == "nse")

    @property
    def crude(self):
        return self.listed(lambda each: each.identity.underlying_symbol == "CRUDEOIL")

    def order_form(self, name, **changes):
        market = self.account.market(name.contract.instrument_id)
        return {
            "exchange": name.exchange, "tradingsymbol": name.tradingsymbol, "transaction_type": "BUY", "quantity": "1",
            "product": "CNC" if name.exchange == "NSE" else "NRML", "order_type": "LIMIT", "validity": "DAY",
            "price": str(market.lower_circuit + name.contract.tick_size), **changes,
        }  # fmt: skip

    def checksum(self, code):
        return hashlib.sha256(f"{self.key}{code}{self.secret}".encode()).hexdigest()

    def open_socket(self, token=None):
        wire = Wire()
        query = (("api_key", self.key), ("access_token", token or self.token))
        request = DialectRequest(method="GET", base=BASE, path="/", query=query, headers={}, body=b"")
        return wire, self.dialect.open_socket(request, wire)


@pytest.fixture
def kite():
    return Kite()


# login ----------------------------------------------------------------------------------------------------------------


def test_the_login_page_redirects_with_a_token_that_can_be_exchanged_once(kite):
    status, answer = kite.call("GET", "/connect/login", query=[("api_key", kite.key), ("v", "3")])
    assert status == 302
    fields = parse_qs(urlsplit(answer.headers["location"]).query)
    assert (fields["status"], fields["action"]) == (["success"], ["login"])
    code = fields["request_token"][0]
    form = {"api_key": kite.key, "request_token": code, "checksum": kite.checksum(code)}
    session = kite.data("POST", "/session/token", form)
    assert (session["api_key"], session["refresh_token"], session["login_time"]) == (
        kite.key,
        "",
        "2026-11-23 10:00:00",
    )
    assert kite.call("GET", "/user/profile", token=session["access_token"])[0] == 200
    status, body = kite.call("POST", "/session/token", form)
    assert (status, body["error_type"]) == (403, "TokenException")


def test_the_redirect_goes_where_the_call_asks(kite):
    query = [("api_key", kite.key), ("v", "3"), ("redirect_url", "http://127.0.0.1:5000/back?x=1")]
    _, answer = kite.call("GET", "/connect/login", query=query)
    assert answer.headers["location"].startswith("http://127.0.0.1:5000/back?x=1&action=login")


@pytest.mark.parametrize("spoil", ["checksum", "api_key", "request_token"])
def test_a_wrong_checksum_key_or_code_is_refused(kite, spoil):
    code = kite.dialect.session()["request_token"]
    form = {"api_key": kite.key, "request_token": code, "checksum": kite.checksum(code), spoil: "ü"}
    status, body = kite.call("POST", "/session/token", form)
    assert (status, body["status"], body["error_type"]) == (403, "error", "TokenException")


def test_a_request_token_lives_a_few_minutes(kite):
    _, answer = kite.call("GET", "/connect/login", query=[("api_key", kite.key)])
    code = parse_qs(urlsplit(answer.headers["location"]).query)["request_token"][0]
    kite.wall.now += 700
    form = {"api_key": kite.key, "request_token": code, "checksum": kite.checksum(code)}
    assert kite.call("POST", "/session/token", form)[0] == 403


def test_a_token_dies_at_six_in_the_morning_at_logout_and_when_expired(kite):
    other = kite.dialect.session()
    assert other["access_token"] == kite.token
    kite.wall.now = datetime(2026, 11, 24, 5, 59, tzinfo=IST).timestamp()
    assert kite.call("GET", "/user/profile")[0] == 200
    kite.wall.now += 120
    status, body = kite.call("GET", "/user/profile")
    assert (status, body["error_type"]) == (403, "TokenException")
    kite.token = kite.dialect.session()["access_token"]
    assert kite.data("DELETE", "/session/token", query=[("api_key", kite.key), ("access_token", kite.token)]) is True
    assert kite.call("GET", "/user/profile")[0] == 403
    kite.token = kite.dialect.session()["access_token"]
    wire, _ = kite.open_socket()
    kite.dialect.expire_session()
    assert kite.call("GET", "/user/profile")[0] == 403
    assert wire.closed is not None


def test_a_refresh_token_renews_once(kite):
    held = kite.dialect.session()["refresh_token"]
    form = {"api_key": kite.key, "refresh_token": held, "checksum": kite.checksum(held)}
    renewed = kite.data("POST", "/session/refresh_token", form)
    assert renewed["refresh_token"] not in ("", held)
    assert kite.call("GET", "/user/profile", token=renewed["access_token"])[0] == 200
    assert kite.call("POST", "/session/refresh_token", form)[0] == 403


def test_a_restarted_simulator_knows_its_tokens(kite):
    old, credentials = kite.token, dict(kite.dialect.credentials)
    kite.start()
    assert kite.token == old
    assert kite.dialect.credentials == credentials


def test_unknown_routes_are_refused_in_kites_envelope(kite):
    assert kite.call("GET", "/nothing")[1]["error_type"] == "GeneralException"
    assert kite.call("POST", "/user/profile")[0] == 405


# orders ---------------------------------------------------------------------------------------------------------------


def test_an_order_rests_is_changed_and_cancelled(kite):
    form = kite.order_form(kite.share, quantity="3", tag="ob12")
    order_id = kite.data("POST", "/orders/regular", form)["order_id"]
    row = kite.data("GET", "/orders")[-1]
    assert (row["order_id"], row["status"], row["quantity"], row["pending_quantity"]) == (order_id, "OPEN", 3, 3)
    assert (row["tag"], row["tags"], row["variety"], row["price"]) == (
        "ob12",
        ["ob12"],
        "regular",
        float(form["price"]),
    )
    assert row["instrument_token"] == kite.share.contract.exchange_token * 256 + 1
    assert row["order_timestamp"] == "2026-11-23 10:00:00"
    assert kite.data("PUT", f"/orders/regular/{order_id}", {"quantity": "5"}) == {"order_id": order_id}
    assert kite.data("GET", "/orders")[-1]["quantity"] == 5
    assert kite.data("DELETE", f"/orders/regular/{order_id}") == {"order_id": order_id}
    row = kite.data("GET", "/orders")[-1]
    assert (row["status"], row["pending_quantity"], row["cancelled_quantity"]) == ("CANCELLED", 0, 5)
    history = [state["status"] for state in kite.data("GET", f"/orders/{order_id}")]
    assert (history[0], history[-1]) == ("PUT ORDER REQ RECEIVED", "CANCELLED")


def test_a_finished_and_an_unknown_order_are_refused(kite):
    order_id = kite.data("POST", "/orders/regular", kite.order_form(kite.share))["order_id"]
    kite.data("DELETE", f"/orders/regular/{order_id}")
    for method, path in (("DELETE", f"/orders/regular/{order_id}"), ("PUT", f"/orders/regular/{order_id}"),
                         ("DELETE", "/orders/regular/1"), ("PUT", "/orders/regular/1"), ("GET", "/orders/1")):  # fmt: skip
        status, body = kite.call(method, path, {"quantity": "2"})
        assert (status, body["error_type"]) == (400, "OrderException"), (method, path)


def test_a_market_order_trades_and_shows_in_trades_and_positions(kite):
    share = kite.share
    before = len(kite.data("GET", "/trades"))
    form = kite.order_form(share, order_type="MARKET", product="MIS", market_protection="-1")
    del form["price"]
    order_id = kite.data("POST", "/orders/regular", form)["order_id"]
    row = next(row for row in kite.data("GET", "/orders") if row["order_id"] == order_id)
    assert (row["status"], row["filled_quantity"], row["product"]) == ("COMPLETE", 1, "MIS")
    (trade,) = kite.data("GET", f"/orders/{order_id}/trades")
    assert trade["average_price"] == row["average_price"] > 0
    assert trade["fill_timestamp"] == "2026-11-23 10:00:00"
    assert trade["order_timestamp"] == "10:00:00"
    assert len(kite.data("GET", "/trades")) == before + 1
    for view in ("net", "day"):
        held = [
            each
            for each in kite.data("GET", "/portfolio/positions")[view]
            if each["tradingsymbol"] == share.tradingsymbol and each["product"] == "MIS"
        ]
        assert held[0]["day_buy_quantity"] >= 1


def test_commodity_orders_and_positions_are_in_lots(kite):
    crude = kite.crude
    assert crude.exchange == "MCX"
    form = kite.order_form(crude, order_type="MARKET", quantity="2", transaction_type="SELL", product="MIS")
    del form["price"]
    order_id = kite.data("POST", "/orders/regular", form)["order_id"]
    order = kite.account.order(order_id)
    assert order.quantity == 200
    row = next(row for row in kite.data("GET", "/orders") if row["order_id"] == order_id)
    assert (row["quantity"], row["filled_quantity"]) == (2, order.filled_quantity // 100)
    position = next(
        each for each in kite.data("GET", "/portfolio/positions")["net"]
        if each["tradingsymbol"] == crude.tradingsymbol and each["product"] == "MIS"
    )  # fmt: skip
    assert (position["quantity"], position["multiplier"]) == (-2, 100)
    assert position["sell_value"] == pytest.approx(2 * 100 * position["sell_price"])
    assert position["value"] == pytest.approx(position["sell_value"] - position["buy_value"])


def test_a_stop_waits_for_its_trigger(kite):
    market = kite.account.market(kite.share.contract.instrument_id)
    trigger = str(market.upper_circuit - kite.share.contract.tick_size * 4)
    form = kite.order_form(kite.share, order_type="SL-M", trigger_price=trigger, market_protection="-1")
    del form["price"]
    kite.data("POST", "/orders/regular", form)
    row = kite.data("GET", "/orders")[-1]
    assert (row["status"], row["trigger_price"]) == ("TRIGGER PENDING", float(trigger))


@every_case(
    ("changes", "error_type"),
    [
        ({"quantity": "0"}, "InputException"),
        ({"quantity": "-1"}, "InputException"),
        ({"quantity": ""}, "InputException"),
        ({"quantity": "1.5"}, "InputException"),
        ({"price": "abc"}, "InputException"),
        ({"price": "NaN"}, "InputException"),
        ({"transaction_type": "HOLD"}, "InputException"),
        ({"product": "MTF"}, "InputException"),
        ({"order_type": "ICEBERG"}, "InputException"),
        ({"validity": "TTL"}, "InputException"),
        ({"tag": "not-alnum"}, "InputException"),
        ({"tag": "x" * 21}, "InputException"),
        ({"tradingsymbol": "NOSUCH"}, "InputException"),
        ({"exchange": "NFO"}, "InputException"),
        ({"price": "100.01"}, "InputException"),
    ],
)
def test_a_bad_order_is_refused_before_it_has_an_id(kite, changes, error_type):
    before = len(kite.data("GET", "/orders"))
    status, body = kite.call("POST", "/orders/regular", kite.order_form(kite.share, **changes))
    assert (status, body["error_type"]) == (400, error_type)
    assert body["message"]
    assert len(kite.data("GET", "/orders")) == before


def test_an_order_the_exchange_refuses_has_an_id_and_is_rejected_in_the_book(kite):
    form = kite.order_form(kite.share, quantity="99999999")
    order_id = kite.data("POST", "/orders/regular", form)["order_id"]
    row = kite.data("GET", "/orders")[-1]
    assert (row["order_id"], row["status"], row["filled_quantity"]) == (order_id, "REJECTED", 0)
    assert row["status_message"]


def test_an_index_cannot_be_ordered_and_a_variety_must_be_known(kite):
    index = kite.listed(lambda each: each.is_index)
    assert kite.call("POST", "/orders/regular", kite.order_form(index))[1]["error_type"] == "InputException"
    assert kite.call("POST", "/orders/iceberg", kite.order_form(kite.share))[1]["error_type"] == "InputException"


# account and market data ----------------------------------------------------------------------------------------------


def test_holdings_show_free_t1_and_pledged_units_apart(kite):
    rows = {row["tradingsymbol"]: row for row in kite.data("GET", "/portfolio/holdings")}
    held = kite.account.holdings()
    assert len(rows) == len(held) == 8
    for each in held:
        row = rows[str(kite.account.contract(each.instrument_id).identity.symbol)]
        assert (row["quantity"], row["t1_quantity"], row["collateral_quantity"]) == (
            each.settled_quantity, each.t1_quantity, each.collateral_quantity,
        )  # fmt: skip
        assert row["isin"].startswith("INE")
    assert any(row["t1_quantity"] for row in rows.values())
    assert any(row["collateral_quantity"] for row in rows.values())


def test_a_carried_position_shows_its_overnight_leg(kite):
    carried = [row for row in kite.data("GET", "/portfolio/positions")["net"] if row["overnight_quantity"]]
    assert len(carried) == 2
    assert any(row["quantity"] < 0 for row in carried)
    assert all(row["average_price"] > 0 and row["close_price"] > 0 for row in carried)


def test_the_purses_balance(kite):
    margins = kite.data("GET", "/user/margins")
    assert set(margins) == {"equity", "commodity"}
    for purse in margins.values():
        available, used = purse["available"], purse["utilised"]
        assert purse["net"] == pytest.approx(available["cash"] + available["collateral"] - used["debits"])
    assert margins["equity"]["net"] > 9_000_000
    assert kite.data("GET", "/user/margins/commodity") == margins["commodity"]
    assert kite.call("GET", "/user/margins/gold")[1]["error_type"] == "InputException"


def test_the_instrument_file_names_every_contract_of_kites_exchanges(kite):
    _, answer = kite.call("GET", "/instruments")
    lines = answer.body.decode().splitlines()
    assert lines[0].startswith("instrument_token,exchange_token,tradingsymbol,name,last_price,expiry,strike,tick_size")
    exchanges = {line.rsplit(",", 1)[1] for line in lines[1:]}
    assert exchanges == {"NSE", "BSE", "NFO", "BFO", "CDS", "MCX"}
    assert len(lines) == 1 + len(kite.account.contracts())
    _, answer = kite.call("GET", "/instruments/MCX")
    rows = [line.split(",") for line in answer.body.decode().splitlines()[1:]]
    assert rows
    assert all((row[8], row[11]) == ("1", "MCX") for row in rows)


@pytest.mark.parametrize(
    ("identity", "symbol"),
    [
        (option("nse", "equity_index_options", "NIFTY", date(2025, 8, 7), 24400, "CE"), "NIFTY2580724400CE"),
        (option("nse", "equity_index_options", "NIFTY", date(2025, 8, 28), 24400, "CE"), "NIFTY25AUG24400CE"),
        (option("nse", "equity_index_options", "NIFTY", date(2025, 10, 7), 24400, "PE"), "NIFTY25O0724400PE"),
        (option("nse", "currency_options", "USDINR", date(2026, 11, 26), 88.5, "PE"), "USDINR26NOV88.5PE"),
        (future("mcx", "commodity_futures", "GOLD", date(2026, 12, 4)), "GOLD26DECFUT"),
    ],
)  # fmt: skip
def test_trading_symbols_have_kites_form(kite, identity, symbol):
    name = name_of(attrs.evolve(kite.crude.contract, identity=identity))
    assert name is not None
    assert name.tradingsymbol == symbol


def test_quotes_are_keyed_as_asked_and_leave_out_what_is_unknown(kite):
    share, crude = kite.share, kite.crude
    query = [("i", share.quote_name), ("i", str(crude.token)), ("i", "NSE:NOSUCH")]
    quotes = kite.data("GET", "/quote", query=query)
    assert set(quotes) == {share.quote_name, str(crude.token)}
    market = kite.account.market(share.contract.instrument_id)
    quote = quotes[share.quote_name]
    assert (quote["instrument_token"], quote["last_price"]) == (share.token, float(market.last_price))
    assert quote["ohlc"]["close"] == float(market.previous_close)
    assert [len(quote["depth"][side]) for side in ("buy", "sell")] == [5, 5]
    assert quotes[str(crude.token)]["volume"] == kite.account.market(crude.contract.instrument_id).volume // 100
    ltp = kite.data("GET", "/quote/ltp", query=[("i", share.quote_name)])
    assert ltp == {share.quote_name: {"instrument_token": share.token, "last_price": float(market.last_price)}}
    assert set(kite.data("GET", "/quote/ohlc", query=query[:1])[share.quote_name]) == {
        "instrument_token", "last_price", "ohlc",
    }  # fmt: skip
    assert kite.call("GET", "/quote", query=[("i", "NSE:X")] * 501)[1]["error_type"] == "InputException"


def test_candles_have_an_offset_without_colon_and_oi_when_asked(kite):
    path = f"/instruments/historical/{kite.crude.token}/day"
    query = [("from", "2026-11-10 00:00:00"), ("to", "2026-11-22 23:59:59")]
    candles = kite.data("GET", path, query=query)["candles"]
    assert candles
    assert all(len(each) == 6 and each[0].endswith("T00:00:00+0530") for each in candles)
    assert all(len(each) == 7 for each in kite.data("GET", path, query=[*query, ("oi", "1")])["candles"])
    wide = [("from", "2026-01-01 00:00:00"), ("to", "2026-11-22 23:59:59")]
    assert "60 days" in kite.call("GET", path.replace("/day", "/minute"), query=wide)[1]["message"]


# the ticker -----------------------------------------------------------------------------------------------------------


def subscribe(session, mode, *tokens):
    session.received(msgspec.json.encode({"a": "subscribe", "v": tokens}).decode())
    session.received(msgspec.json.encode({"a": "mode", "v": [mode, tokens]}).decode())


def packets(frame):
    (count,) = struct.unpack_from(">H", frame)
    at, found = 2, []
    for _ in range(count):
        (size,) = struct.unpack_from(">H", frame, at)
        found.append(frame[at + 2 : at + 2 + size])
        at += 2 + size
    assert at == len(frame)
    return found


@pytest.mark.parametrize(("mode", "share_size", "index_size"), [("ltp", 8, 8), ("quote", 44, 28), ("full", 184, 32)])
def test_a_mode_tells_the_size_of_a_packet(kite, mode, share_size, index_size):
    share, index = kite.share, kite.listed(lambda each: each.is_index)
    wire, session = kite.open_socket()
    subscribe(session, mode, share.token, index.token)
    one, other = packets(wire.frames[-1])
    assert (len(one), len(other)) == (share_size, index_size)
    market = kite.account.market(share.contract.instrument_id)
    assert struct.unpack_from(">II", one) == (share.token, round(market.last_price * 100))
    assert struct.unpack_from(">I", other)[0] & 0xFF == 9


def test_only_what_is_subscribed_and_moved_is_sent(kite):
    share, crude = kite.share, kite.crude
    wire, session = kite.open_socket()
    subscribe(session, "full", share.token)
    wire.frames.clear()
    session.markets_moved(frozenset({share.contract.instrument_id, crude.contract.instrument_id}))
    assert len(packets(wire.frames.pop())) == 1
    session.received(msgspec.json.encode({"a": "unsubscribe", "v": [share.token]}).decode())
    session.markets_moved(frozenset({share.contract.instrument_id}))
    session.beat()
    assert wire.frames == [b"\x00"]


def test_a_currency_price_is_scaled_by_ten_million(kite):
    dollar = kite.listed(lambda each: each.identity.underlying_symbol == "USDINR")
    wire, session = kite.open_socket()
    subscribe(session, "ltp", dollar.token)
    market = kite.account.market(dollar.contract.instrument_id)
    assert struct.unpack(">II", packets(wire.frames[-1])[0]) == (dollar.token, int(market.last_price * 10_000_000))


def test_order_changes_come_as_postbacks_on_the_same_socket(kite):
    wire, session = kite.open_socket()
    order_id = kite.data("POST", "/orders/regular", kite.order_form(kite.share))["order_id"]
    session.order_changed(kite.account.order(order_id), None)
    message = msgspec.json.decode(wire.frames[-1])
    row = message["data"]
    assert (message["type"], row["order_id"], row["status"], row["unfilled_quantity"]) == ("order", order_id, "OPEN", 1)
    signed = f"{order_id}{row['order_timestamp']}{kite.secret}"
    assert row["checksum"] == hashlib.sha256(signed.encode()).hexdigest()


@every_case(
    "message",
    ["", "x", "[]", '{"a":"subscribe","v":["408065"]}', '{"a":"dance","v":[1]}', '{"a":"mode","v":["deep",[1]]}'],
)
def test_a_message_kite_does_not_know_is_answered_with_an_error(kite, message):
    wire, session = kite.open_socket()
    session.received(message)
    assert [msgspec.json.decode(frame)["type"] for frame in wire.frames] == ["error"]


def test_a_socket_needs_a_live_token(kite):
    _, refused = kite.open_socket(token="dead")
    assert refused.status == 403
    kite.wall.now += timedelta(days=1).total_seconds()
    _, refused = kite.open_socket()
    assert refused.status == 403


def test_the_refusals_the_host_sends_are_kites(kite):
    assert (kite.dialect.rate_limited().status, kite.dialect.refusal_in_200().status) == (429, 200)
    assert msgspec.json.decode(kite.dialect.refusal_in_200().body)["status"] == "error"
