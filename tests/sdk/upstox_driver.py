"""Upstox' official SDK at work: login, account, orders, market data, both streams. Runs in the SDK's environment (style 12).

Reads the simulator's JSON line; writes `{"step", "value"}` lines. Judging is the test's: `test_upstox_sdk.py`.
"""

import datetime
import gzip
import json
import sys
import threading
import urllib.request

import upstox_client
import websocket
from upstox_client.rest import ApiException

WAIT_SECONDS = 120
IST = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
VERSION = "2.0"


def step(name, value):
    print(json.dumps({"step": name, "value": value}, default=str), flush=True)


def plain(answer):
    """Return an SDK model as JSON values."""
    return answer.to_dict() if hasattr(answer, "to_dict") else answer


def refused(call, *arguments, **options):
    """Return the status and the error codes a call ends with."""
    try:
        call(*arguments, **options)
    except ApiException as error:
        return {"status": error.status, "codes": [each["errorCode"] for each in json.loads(error.body)["errors"]]}
    return None


def client(line, token):
    configuration = upstox_client.Configuration()
    configuration.host = line["rest_url"]
    configuration.order_host = line["order_url"]
    configuration.access_token = token
    return upstox_client.ApiClient(configuration)


def login(line):
    credentials = line["credentials"]
    api = upstox_client.LoginApi(client(line, ""))
    form = {
        "code": line["session"]["code"],
        "client_id": credentials["api_key"],
        "client_secret": credentials["api_secret"],
        "redirect_uri": credentials["redirect_url"],
        "grant_type": "authorization_code",
    }
    answer = plain(api.token(VERSION, **form))
    step("token", answer)
    step("code used twice", refused(api.token, VERSION, **form))
    return answer["access_token"]


def account(api):
    user, portfolio = upstox_client.UserApi(api), upstox_client.PortfolioApi(api)
    step("profile", plain(user.get_profile(VERSION)))
    step("funds", plain(user.get_user_fund_margin_v3()))
    step("old funds", plain(user.get_user_fund_margin(VERSION)))
    step("holdings", plain(portfolio.get_holdings(VERSION)))
    step("positions", plain(portfolio.get_positions(VERSION)))
    step("margin trading", plain(portfolio.get_mtf_positions()))


def instruments(line):
    with urllib.request.urlopen(f"{line['instruments_url']}/complete.json.gz") as answer:
        rows = json.loads(gzip.decompress(answer.read()))

    def first(segment, kind):
        return next(row for row in rows if row["segment"] == segment and row["instrument_type"] == kind)

    return {
        "share": first("NSE_EQ", "EQ"),
        "index": first("NSE_INDEX", "INDEX"),
        "currency": first("NCD_FO", "FUT"),
        "commodity": first("MCX_FO", "FUT"),
    }


def market_data(api, chosen):
    keys = ",".join(row["instrument_key"] for row in chosen.values())
    old, new = upstox_client.MarketQuoteApi(api), upstox_client.MarketQuoteV3Api(api)
    quotes = plain(old.get_full_market_quote(keys, VERSION))
    step("quotes", quotes)
    step("quotes v3", plain(new.get_full_market_quote_v3(instrument_key=keys)))
    step("ohlc", plain(new.get_market_quote_ohlc("1d", instrument_key=keys)))
    step("ltp", plain(new.get_ltp(instrument_key=keys)))
    step("unknown key", refused(new.get_ltp, instrument_key="NSE_EQ|nobody"))
    history = upstox_client.HistoryV3Api(api)
    today = datetime.datetime.now(IST).date()
    key = chosen["share"]["instrument_key"]
    month_ago = str(today - datetime.timedelta(days=30))
    step("days", plain(history.get_historical_candle_data1(key, "days", 1, str(today), month_ago)))
    step("minutes", plain(history.get_intra_day_candle_data(key, "minutes", 15)))
    step("bad interval", refused(history.get_intra_day_candle_data, key, "minutes", 7))
    return {row["instrument_token"]: row for row in quotes["data"].values()}


def place(orders, row, **changes):
    fields = {
        "quantity": 1,
        "product": "D",
        "validity": "DAY",
        "price": 0,
        "tag": "sdk1",
        "instrument_token": row["instrument_key"],
        "order_type": "LIMIT",
        "transaction_type": "BUY",
        "disclosed_quantity": 0,
        "trigger_price": 0,
        "is_amo": False,
        "slice": False,
        **changes,
    }
    return plain(orders.place_order(upstox_client.PlaceOrderV3Request(**fields)))


def trade(api, chosen, quotes):
    orders, books = upstox_client.OrderApiV3(api), upstox_client.OrderApi(api)
    share = chosen["share"]
    tick = share["tick_size"] / 100
    low = round(quotes[share["instrument_key"]]["lower_circuit_limit"] + 10 * tick, 2)
    placed = place(orders, share, price=low, quantity=2)
    step("placed", placed)
    order_id = placed["data"]["order_ids"][0]
    change = upstox_client.ModifyOrderRequest(
        order_id=order_id,
        quantity=3,
        validity="DAY",
        price=low,
        order_type="LIMIT",
        disclosed_quantity=0,
        trigger_price=0,
    )
    step("modified", plain(orders.modify_order(change)))
    step("details", plain(books.get_order_status(order_id=order_id)))
    step("cancelled", plain(orders.cancel_order(order_id)))
    step("cancelled twice", refused(orders.cancel_order, order_id))
    step("history", plain(books.get_order_details(VERSION, order_id=order_id)))
    step("history by tag", plain(books.get_order_details(VERSION, tag="sdk1")))
    bought = place(orders, chosen["commodity"], order_type="MARKET", tag="sdk2")["data"]["order_ids"][0]
    step("bought", bought)
    step("orders", plain(books.get_order_book(VERSION)))
    step("trades", plain(books.get_trade_history(VERSION)))
    step("trades of one", plain(books.get_trades_by_order(bought, VERSION)))
    step("positions after", plain(upstox_client.PortfolioApi(api).get_positions(VERSION)))
    body = upstox_client.PlaceOrderV3Request(
        quantity=1, product="D", validity="DAY", price=1, instrument_token="NSE_EQ|nobody", order_type="LIMIT",
        transaction_type="BUY", disclosed_quantity=0, trigger_price=0, is_amo=False,
    )  # fmt: skip
    step("unknown instrument", refused(orders.place_order, body))


def order_margins(api, chosen):
    """What one commodity future would need, sold; beside a share bought; and instruments that are none, or named twice."""
    charges = upstox_client.ChargeApi(api)

    def order(kind, quantity, side, key=None, **more):
        return upstox_client.Instrument(
            instrument_key=key or chosen[kind]["instrument_key"],
            quantity=quantity,
            product="D",
            transaction_type=side,
            **more,
        )

    commodity = order("commodity", 1, "SELL")
    step("order margin", plain(charges.post_margin(upstox_client.MarginRequest(instruments=[commodity]))))
    both = [commodity, order("share", 2, "BUY", price=100.0)]
    step("order margins", plain(charges.post_margin(upstox_client.MarginRequest(instruments=both))))
    nobody = [order("share", 1, "BUY", key="NSE_EQ|nobody")]
    step("margin of nothing", refused(charges.post_margin, upstox_client.MarginRequest(instruments=nobody)))
    twice = [commodity, commodity]
    step("margin of one twice", refused(charges.post_margin, upstox_client.MarginRequest(instruments=twice)))


def use_simulator_for_sockets(line):
    """The SDK's socket addresses are literals: send them here. The redirect that follows is the server's own."""
    base = line["stream_url"].removesuffix("/v3/feed/market-data-feed")

    class Redirected(websocket.WebSocketApp):
        def __init__(self, url, **options):
            super().__init__(url.replace("wss://api.upstox.com", base), **options)

    websocket.WebSocketApp = Redirected


class Listener:
    """Collects an SDK streamer's messages until enough have come."""

    def __init__(self, streamer, enough):
        self.messages, self.errors = [], []
        self._enough, self._done, self.opened = enough, threading.Event(), threading.Event()
        self.streamer = streamer
        streamer.auto_reconnect(False)
        streamer.on("open", self.opened.set)
        streamer.on("message", self._received)
        streamer.on("error", lambda error: self.errors.append(str(error)))
        streamer.connect()

    def _received(self, message):
        self.messages.append(message)
        if self._enough(self.messages):
            self._done.set()

    def wait(self):
        self._done.wait(WAIT_SECONDS)
        self.streamer.disconnect()
        return {"messages": self.messages, "errors": self.errors}


def live_feeds(messages):
    return sum(message.get("type") == "live_feed" for message in messages) >= 2


def market_stream(api, chosen, mode):
    keys = [row["instrument_key"] for row in chosen.values()]
    return Listener(upstox_client.MarketDataStreamerV3(api, keys, mode), live_feeds).wait()


def portfolio_stream(api, chosen):
    streamer = upstox_client.PortfolioDataStreamer(api, order_update=True, position_update=True)

    def enough(messages):
        return any(json.loads(message)["update_type"] == "position" for message in messages)

    listener = Listener(streamer, enough)
    listener.opened.wait(WAIT_SECONDS)
    place(upstox_client.OrderApiV3(api), chosen["commodity"], order_type="MARKET", tag="sdk3")
    seen = listener.wait()
    return {"messages": [json.loads(message) for message in seen["messages"]], "errors": seen["errors"]}


def main():
    line = json.loads(sys.stdin.readline())
    api = client(line, login(line))
    account(api)
    chosen = instruments(line)
    step("chosen", chosen)
    trade(api, chosen, market_data(api, chosen))
    order_margins(api, chosen)
    use_simulator_for_sockets(line)
    for mode in ("ltpc", "full", "option_greeks"):
        step(f"market {mode}", market_stream(api, chosen, mode))
    step("portfolio", portfolio_stream(api, chosen))
    dead = client(line, "dead")
    step("dead token", refused(upstox_client.UserApi(dead).get_profile, VERSION))
    sockets = upstox_client.WebsocketApi(api)
    step("authorized", plain(sockets.get_portfolio_stream_feed_authorize(VERSION)))
    step("logged out", plain(upstox_client.LoginApi(api).logout(VERSION)))
    step("after logout", refused(upstox_client.UserApi(api).get_profile, VERSION))


main()
