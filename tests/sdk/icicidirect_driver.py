"""ICICI Direct's official SDK at work: login, account, orders, market data, its three streams. Runs in the SDK's
environment.

Reads the simulator's JSON line; writes `{"step", "value"}` lines. Judging is the test's: `test_icicidirect_sdk.py`.
"""

import contextlib
import csv
import importlib.util
import io
import json
import os
import sys
import threading
import time
import urllib.error
import urllib.request
import zipfile
from urllib.parse import parse_qsl, quote, urlsplit

import socketio

WAIT_SECONDS, TRIES = 120, 12
PAUSE_SECONDS = 1.1
"""Order messages are limited by the second."""


def step(name, value):
    sys.__stdout__.write(json.dumps({"step": name, "value": value}, default=str) + "\n")
    sys.__stdout__.flush()


def use_simulator(line):
    """Import the SDK with the simulator's addresses. It downloads the security master and makes a folder at import."""
    folder = os.path.dirname(importlib.util.find_spec("breeze_connect").origin)
    sys.path.insert(1, folder)
    config = importlib.import_module("config")
    sys.path.remove(folder)  # or the package itself would be looked for in it

    config.API_URL = line["rest_url"]
    config.BREEZE_NEW_URL = line["rest_v2_url"]
    config.LIVE_FEEDS_URL = line["order_stream_url"]
    config.LIVE_STREAM_URL = line["stream_url"]
    config.LIVE_OHLC_STREAM_URL = line["ohlc_stream_url"]
    config.SECURITY_MASTER_URL = line["instruments_url"]
    connect = socketio.Client.connect

    def connect_under_path(self, url, socketio_path="socket.io", **options):
        """The client drops a path of the host's address: the simulator's hosts are told apart by theirs."""
        prefix = urlsplit(url).path.strip("/")
        options["wait_timeout"] = WAIT_SECONDS  # the SDK waits for three seconds
        return connect(self, url, socketio_path=f"{prefix}/{socketio_path}", **options)

    socketio.Client.connect = connect_under_path
    from breeze_connect.breeze_connect import BreezeConnect

    return BreezeConnect


def redirected(line):
    """Open the login page as a browser would; return the API_Session of where it leads."""

    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *arguments):
            return None

    page = f"{line['login_url']}?api_key={quote(line['credentials']['app_key'], safe='')}"
    try:
        urllib.request.build_opener(Stay()).open(page)
    except urllib.error.HTTPError as answer:
        return dict(parse_qsl(urlsplit(answer.headers["Location"]).query))["apisession"]
    raise AssertionError("the page did not redirect")


def failure(call, *arguments):
    try:
        call(*arguments)
    except Exception as error:  # noqa: BLE001 - the SDK raises nothing else
        return str(error)
    return None


def login(line, sdk):
    key, secret = line["credentials"]["app_key"], line["credentials"]["secret_key"]
    breeze = sdk(api_key=key)
    session = redirected(line)
    breeze.generate_session(api_secret=secret, session_token=session)
    step("user", breeze.user_id)
    step("profile", breeze.get_customer_details(api_session=session))
    step("expired session", failure(sdk(api_key=key).generate_session, secret, "abcdef0123456789"))
    step("wrong session", failure(sdk(api_key=key).generate_session, secret, "not a session"))
    step("wrong key", failure(sdk(api_key="other").generate_session, secret, session))
    return breeze


def account(breeze):
    step("funds", breeze.get_funds())
    step("margin", breeze.get_margin(exchange_code="NSE"))
    step("demat", breeze.get_demat_holdings())
    step("holdings", breeze.get_portfolio_holdings(exchange_code="NSE"))
    step("positions", breeze.get_portfolio_positions())


def chosen(breeze):
    """Take the instruments from what the SDK itself reads out of the security master."""
    share = next(code for code, token in breeze.stock_script_dict_list[1].items() if token.isdecimal())
    index = next(code for code, token in breeze.stock_script_dict_list[1].items() if "DESH" in token)
    contract = next(name for name in breeze.stock_script_dict_list[4] if name.startswith("OPT-DESH-"))
    _, stock, day, month, year, strike, right = contract.split("-")
    bse = next(code for code, token in breeze.stock_script_dict_list[0].items() if token.isdecimal())
    option = {
        "stock_code": stock, "exchange_code": "NFO", "product_type": "options", "expiry_date": f"{day}-{month}-{year}",
        "strike_price": strike, "right": {"CE": "call", "PE": "put"}[right],
    }  # fmt: skip
    return {
        "share": share,
        "index": index,
        "option": option,
        "bse": bse,
        "sizes": [len(each) for each in breeze.stock_script_dict_list],
    }


def market_data(breeze, names):
    day = time.strftime("%Y-%m-%d")
    span = {"from_date": f"{day}T00:00:00.000Z", "to_date": f"{day}T23:59:59.000Z"}
    share = {"stock_code": names["share"], "exchange_code": "NSE"}
    quotes = breeze.get_quotes(**share, product_type="cash")
    step("quote", quotes)
    step("quote of option", breeze.get_quotes(**names["option"]))
    step("quote of both", breeze.get_quotes(stock_code=names["bse"], exchange_code="BSE", product_type="cash"))
    step("unknown quote", breeze.get_quotes(stock_code="NOBODY", exchange_code="NSE", product_type="cash"))
    step("candles", breeze.get_historical_data_v2(interval="30minute", **span, **share, product_type="cash"))
    step("option candles", breeze.get_historical_data_v2(interval="1day", **span, **names["option"]))
    step("old candles", breeze.get_historical_data(interval="30minute", **span, **share, product_type="cash"))
    return quotes["Success"][0]


def place(breeze, stock, price, **more):
    time.sleep(PAUSE_SECONDS)
    fields = {
        "stock_code": stock, "exchange_code": "NSE", "product": "cash", "action": "buy", "order_type": "limit", "stoploss": "",
        "quantity": "2", "price": str(price), "validity": "day", "user_remark": "sdk1", **more,
    }  # fmt: skip
    return breeze.place_order(**fields)


def trade(breeze, names, quote_row):
    day = time.strftime("%Y-%m-%d")
    span = {"exchange_code": "NSE", "from_date": f"{day}T00:00:00.000Z", "to_date": f"{day}T23:59:59.000Z"}
    low = round(quote_row["lower_circuit"] + 1, 2)
    placed = place(breeze, names["share"], low)
    step("placed", placed)
    order_id = placed["Success"]["order_id"]
    modify = {
        "order_id": order_id,
        "exchange_code": "NSE",
        "order_type": "limit",
        "quantity": "3",
        "price": str(low),
        "validity": "day",
    }
    step("modified", breeze.modify_order(**modify))
    step("detail", breeze.get_order_detail(exchange_code="NSE", order_id=order_id))
    step("cancelled", breeze.cancel_order(exchange_code="NSE", order_id=order_id))
    time.sleep(PAUSE_SECONDS)
    step("cancelled twice", breeze.cancel_order(exchange_code="NSE", order_id=order_id))
    step("modified too late", breeze.modify_order(**modify))
    step(
        "stop",
        place(breeze, names["share"], low, order_type="stoploss", stoploss=str(low + 1), action="sell", quantity="1"),
    )
    # The SDK makes a limit price of a quote.
    bought = place(breeze, names["share"], "", order_type="market", quantity="1", user_remark="sdk2")
    step("bought", bought)
    option = {**names["option"], "product": names["option"]["product_type"]}
    del option["product_type"], option["stock_code"]
    step("option refused", place(breeze, names["option"]["stock_code"], 1, quantity="1", **option))
    step("margin refused", place(breeze, names["share"], low, product="margin"))
    step("orders", breeze.get_order_list(**span))
    step("empty orders", breeze.get_order_list(**{**span, "exchange_code": "BFO"}))
    step("trades", breeze.get_trade_list(**span))
    step("fills", breeze.get_trade_detail(exchange_code="NSE", order_id=bought["Success"]["order_id"]))
    step("positions after", breeze.get_portfolio_positions())


def lot_size(line, stock):
    """Read it out of the security master: the SDK keeps codes and tokens only."""
    with urllib.request.urlopen(line["instruments_url"]) as answer:
        packed = zipfile.ZipFile(io.BytesIO(answer.read()))
    rows = csv.DictReader(io.StringIO(packed.read("FONSEScripMaster.txt").decode()))
    return next(int(row["LotSize"]) for row in rows if row["ShortName"] == stock)


def calculations(breeze, names, lot):
    """What an option sold would need by itself, twice as many, and one of nobody; the fields are the README's."""
    option = {
        **{name: names["option"][name] for name in ("stock_code", "expiry_date", "strike_price", "right")}, "product": "options",
        "action": "sell", "price": "10", "cover_order_flow": "N", "fresh_order_type": "N", "cover_limit_rate": "0",
        "cover_sltp_price": "0", "fresh_limit_rate": "0", "open_quantity": "0",
    }  # fmt: skip
    one, two = ({**option, "quantity": str(lots * lot)} for lots in (1, 2))
    time.sleep(PAUSE_SECONDS)
    step("calculated", [breeze.margin_calculator(each, "NFO") for each in ([one], [two], [one, two])])
    step("calculated for nobody", breeze.margin_calculator([{**one, "stock_code": "NOBODY"}], "NFO"))
    step("calculated for shares", breeze.margin_calculator([one], "NSE"))


class Heard:
    """Collects what the SDK hands to `on_ticks`."""

    def __init__(self, breeze):
        self.messages, self._changed = [], threading.Condition()
        breeze.on_ticks = self.add

    def add(self, message):
        with self._changed:
            self.messages.append(message)
            self._changed.notify_all()

    def wait(self, enough, seconds=WAIT_SECONDS):
        with self._changed:
            self._changed.wait_for(lambda: enough(self.messages), seconds)
            return list(self.messages)


def kinds(messages):
    return {(message.get("symbol"), message.get("quotes")) for message in messages if "symbol" in message}


def streams(breeze, names, quote_row):
    heard = Heard(breeze)
    breeze.ws_connect()
    step("subscribed", [
        breeze.subscribe_feeds(exchange_code="NSE", stock_code=names["share"]),
        breeze.subscribe_feeds(**names["option"], get_exchange_quotes=True, get_market_depth=True),
        breeze.subscribe_feeds(exchange_code="NSE", stock_code=names["index"], get_market_depth=False),
        breeze.subscribe_feeds(exchange_code="BSE", stock_code=names["bse"]),
    ])  # fmt: skip
    step("ticks", heard.wait(lambda messages: len(kinds(messages)) >= 7))
    step("order stream", breeze.subscribe_feeds(get_order_notification=True))
    for _ in range(TRIES):
        # The stream says nothing of its own to tell that it listens: orders until one is heard of.
        placed = place(breeze, names["share"], round(quote_row["lower_circuit"] + 2, 2), quantity="1")
        order_id = placed["Success"]["order_id"]
        messages = heard.wait(
            lambda messages, order_id=order_id: any(message.get("orderReference") == order_id for message in messages),
            WAIT_SECONDS / TRIES,
        )
        if any(message.get("orderReference") == order_id for message in messages):
            break
    step("placed for the stream", placed)
    step("order messages", [message for message in messages if "orderReference" in message])
    step("candle stream", breeze.subscribe_feeds(exchange_code="NSE", stock_code=names["share"], interval="1minute"))
    messages = heard.wait(lambda messages: any("interval" in message for message in messages))
    step("candle messages", [message for message in messages if "interval" in message])
    step("unsubscribed", breeze.unsubscribe_feeds(exchange_code="NSE", stock_code=names["share"]))


def refused_stream(breeze):
    """A stream with a key that is not live."""
    good, breeze.session_key = breeze.session_key, "dead"
    client = socketio.Client(reconnection=False)
    refusals = []
    client.on("connect_error", refusals.append)
    with contextlib.suppress(socketio.exceptions.ConnectionError):
        client.connect(
            sys.modules["config"].LIVE_STREAM_URL, auth={"user": breeze.user_id, "token": "dead"}, transports="websocket",
        )  # fmt: skip
    breeze.session_key = good
    step("refused stream", refusals)


def main():
    line = json.loads(sys.stdin.readline())
    sys.stdout = io.StringIO()  # the SDK prints
    sdk = use_simulator(line)
    breeze = login(line, sdk)
    account(breeze)
    names = chosen(breeze)
    step("names", names)
    quote_row = market_data(breeze, names)
    trade(breeze, names, quote_row)
    calculations(breeze, names, lot_size(line, names["option"]["stock_code"]))
    streams(breeze, names, quote_row)
    refused_stream(breeze)
    breeze.api_handler.base64_session_token = "QVNIQVYxMjM6ZGVhZA=="
    step("dead token", breeze.get_funds())
    breeze.secret_key = "other"
    step("done", True)
    os._exit(0)  # the SDK's threads never end


main()
