"""5paisa's official SDK at work: login, account, orders, market data, the socket. Runs in the SDK's environment (style 12).

Reads the simulator's JSON line; writes `{"step", "value"}` lines. Judging is the test's: `test_fivepaisa_sdk.py`. The SDK logs to
standard output, prints what it sends nowhere and swallows every error, so its log goes to standard error and what it returns
is all there is. It has no word for order updates of the socket: that one subscription is written here from the documents.
"""

import base64
import datetime
import hashlib
import hmac
import json
import struct
import sys
import threading
import time

OUT = sys.stdout
sys.stdout = sys.stderr  # the SDK's log keeps the stream it finds at import

import py5paisa.py5paisa as sdk  # noqa: E402
from py5paisa import FivePaisaClient  # noqa: E402

WAIT_SECONDS = 120
IST = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
PAUSE_SECONDS = 0.3
"""Between order messages: five a second are allowed."""


def step(name, value):
    print(json.dumps({"step": name, "value": value}, default=str), file=OUT, flush=True)


def one_time_code(secret):
    key = base64.b32decode(secret + "=" * (-len(secret) % 8))
    digest = hmac.new(key, struct.pack(">Q", int(time.time()) // 30), hashlib.sha1).digest()
    place = digest[-1] & 15
    return f"{(struct.unpack('>I', digest[place : place + 4])[0] & 0x7FFFFFFF) % 10**6:06d}"


def client(line):
    keys = line["credentials"]
    made = FivePaisaClient(
        cred={name.upper(): keys[name] for name in ("app_name", "app_source", "user_id", "password", "user_key", "encryption_key")}
    )  # fmt: skip
    base, known = line["rest_url"], sdk.BaseUrl
    for name, value in vars(made).items():
        if isinstance(value, str) and value.startswith(known):
            setattr(made, name, base + value.removeprefix(known))
    sdk.ACCESS_TOKEN_ROUTE, sdk.GET_REQUEST_TOKEN_ROUTE = made.ACCESS_TOKEN_ROUTE, made.GET_REQUEST_TOKEN_ROUTE
    made.HISTORICAL_DATA_ROUTE = line["historical_url"]
    made.WEBSOCKET_URL = line["stream_url"] + "?Value1="
    return made


def login(line):
    keys = line["credentials"]
    wrong = client(line)
    step("wrong code", wrong.get_totp_session(keys["client_code"], "000000", keys["pin"]))
    good = client(line)
    step("token", good.get_totp_session(keys["client_code"], one_time_code(keys["totp_secret"]), keys["pin"]))
    step("token again", client(line).get_access_token(good.request_token))
    step("client code", good.client_code)
    step("feed of the token", good.decode_token(good.access_token))
    step("minted", client(line).decode_token(line["session"]["AccessToken"]))
    return good


def account(api):
    step("margin", api.margin())
    step("holdings", api.holdings())
    step("positions", api.positions())
    step("positions of the day", api.positions_day())
    step("market status", api.get_market_status())


def instruments(api):
    rows = api.get_scrips().to_dict("records")

    def first(exchange, kind, test=lambda row: True):
        return next(row for row in rows if row["Exch"] == exchange and row["ExchType"] == kind and test(row))

    return {
        "share": first("N", "C", lambda row: row["Series"] == "EQ" and int(row["ScripCode"]) < 999900),
        "index": first("N", "C", lambda row: int(row["ScripCode"]) > 999900),
        "future": first("N", "D", lambda row: row["ScripType"] == "XX"),
        "option": first("N", "D", lambda row: row["ScripType"] == "CE"),
        "currency": first("N", "U", lambda row: row["ScripType"] == "XX"),
        "commodity": first("M", "D", lambda row: row["ScripType"] == "XX"),
    }


def scrip(row):
    return {"Exch": row["Exch"], "ExchType": row["ExchType"], "ScripCode": row["ScripCode"]}


def market_data(api, chosen):
    feed = api.fetch_market_feed_scrip([scrip(row) for row in chosen.values()])
    step("market feed", feed)
    step(
        "market feed by data",
        api.fetch_market_feed([{"Exch": "N", "ExchType": "D", "ScripData": chosen["option"]["ScripData"]}]),
    )
    asked = [
        {"Exchange": row["Exch"], "ExchangeType": row["ExchType"], "ScripCode": row["ScripCode"]}
        for row in chosen.values()
    ]
    step("snapshot", api.fetch_market_snapshot(asked))
    share = chosen["share"]
    step("depth", api.fetch_market_depth_by_scrip(Exchange="N", ExchangeType="C", ScripCode=share["ScripCode"]))
    today = datetime.datetime.now(IST).date()
    month_ago, code = str(today - datetime.timedelta(days=30)), int(share["ScripCode"])
    step("days", api.historical_data("N", "C", code, "1d", month_ago, str(today)).to_dict("records"))
    step("minutes", api.historical_data("N", "C", code, "15m", str(today), str(today)).to_dict("records"))
    return {(row["Exch"], str(row["Token"])): row for row in feed["Data"]}


def priced(quotes, row, percent):
    last = quotes[row["Exch"], row["ScripCode"]]["LastRate"]
    tick = float(row["TickSize"])
    return round(round(last * (100 + percent) / 100 / tick) * tick, 4)


def place(api, row, price, **more):
    time.sleep(PAUSE_SECONDS)
    fields = {
        "OrderType": "B", "Exchange": row["Exch"], "ExchangeType": row["ExchType"], "ScripCode": int(row["ScripCode"]),
        "Qty": 1, "Price": price, "StopLossPrice": 0, "DisQty": 0, "IsIntraday": False, "iOrderValidity": 0, "AHPlaced": "N",
        "RemoteOrderID": "sdk1", **more,
    }  # fmt: skip
    return api.place_order(**fields)


def booked(api, order_id):
    return next(row for row in api.order_book() if row["BrokerOrderId"] == order_id)


def trade(api, chosen, quotes):
    share = chosen["share"]
    low = priced(quotes, share, -3)
    placed = place(api, share, low, Qty=2)
    step("placed", placed)
    row = booked(api, placed["BrokerOrderID"])
    step("resting", row)
    step("status", api.fetch_order_status([{"Exch": "N", "RemoteOrderID": "sdk1"}]))
    time.sleep(PAUSE_SECONDS)
    step("modified", api.modify_order(ExchOrderID=row["ExchOrderID"], Price=low, Qty=3))
    step("after modify", booked(api, placed["BrokerOrderID"]))
    time.sleep(PAUSE_SECONDS)
    step("cancelled", api.cancel_order(row["ExchOrderID"]))
    time.sleep(PAUSE_SECONDS)
    step("cancelled twice", api.cancel_order(row["ExchOrderID"]))
    step("after cancel", booked(api, placed["BrokerOrderID"]))
    step("at market", place(api, share, 0))
    step("unknown code", place(api, {**share, "ScripCode": "7"}, low))
    stop = place(api, share, priced(quotes, share, 3), StopLossPrice=priced(quotes, share, 2), RemoteOrderID="sdk2")
    row = booked(api, stop["BrokerOrderID"])
    step("stop", row)
    api.cancel_order(row["ExchOrderID"])
    bought = place(api, chosen["commodity"], priced(quotes, chosen["commodity"], 1), RemoteOrderID="sdk3")
    step("bought", bought)
    step("bought row", booked(api, bought["BrokerOrderID"]))
    step("trades", api.get_tradebook())
    step("positions after", api.positions())


def margins(api, chosen):
    """What a commodity future would need, alone and beside an option sold; and a contract that does not exist."""
    one, two = (
        {**scrip(chosen[kind]), "ScripData": "", "PlaceModifyCancel": "P", "OrderType": "S", "Price": 0, "Qty": quantity, "IsIntraday": False}
        for kind, quantity in (("commodity", 1), ("option", int(chosen["option"]["LotSize"])))
    )  # fmt: skip
    step("order margin", api.multi_order_Margin(CoverPositions="N", Orders=[one]))
    step("order margin of two", api.multi_order_Margin(CoverPositions="N", Orders=[one, two]))
    step("order margin of nothing", api.multi_order_Margin(CoverPositions="N", Orders=[{**one, "ScripCode": 7}]))
    step("order margin of many", api.multi_order_Margin(CoverPositions="N", Orders=[one] * 51))


class Stream:
    """The SDK's socket on a thread, and what it hands to the callback: raw text."""

    def __init__(self, api, first):
        self.api, self.frames, self.changed = api, [], threading.Event()
        api.connect(first)
        self.socket = api.ws
        self.socket.on_close = lambda ws, code, reason: self.closed.append(code)
        self.closed = []
        self.thread = threading.Thread(target=api.receive_data, args=(self.received,), daemon=True)
        self.thread.start()

    def received(self, socket, text):
        self.frames.append(json.loads(text))
        self.changed.set()

    def until(self, enough):
        deadline = time.monotonic() + WAIT_SECONDS
        while not enough(self.frames) and time.monotonic() < deadline:
            self.changed.wait(0.2)
            self.changed.clear()

    def ask(self, message):
        self.socket.send(json.dumps(message))


def stream(line, api, chosen, quotes):
    names = [scrip(row) for row in chosen.values()]
    one = Stream(api, dict(api.Request_Feed("mf", "s", names)))
    one.until(lambda frames: sum(isinstance(frame, list) for frame in frames) >= 3)
    one.ask(api.Request_Feed("md", "s", names))
    one.until(lambda frames: any("Details" in frame for frame in frames))
    one.ask(api.Request_Feed("oi", "s", names))
    one.until(lambda frames: any("OpenInterest" in frame for frame in frames))
    one.ask({"Method": "OrderTradeConfirmations", "Operation": "Subscribe", "ClientCode": api.client_code})
    done = place(api, chosen["share"], priced(quotes, chosen["share"], 2), RemoteOrderID="sdk4")
    step("streamed order", done)
    one.until(lambda frames: any(isinstance(frame, dict) and frame.get("ReqType") == "T" for frame in frames))
    step("stream", one.frames)
    two = Stream(api, dict(api.Request_Feed("i", "s", [scrip(chosen["index"])])))
    one.thread.join(WAIT_SECONDS)
    step("evicted with", one.closed)
    two.until(lambda frames: frames)
    step("index stream", two.frames[:1])
    two.socket.close()
    two.thread.join(WAIT_SECONDS)


def main():
    line = json.loads(sys.stdin.readline())
    api = login(line)
    account(api)
    chosen = instruments(api)
    step("chosen", chosen)
    quotes = market_data(api, chosen)
    trade(api, chosen, quotes)
    margins(api, chosen)
    stream(line, api, chosen, quotes)
    dead = client(line)
    dead.set_access_token("dead.token.here", api.client_code)
    step("dead token", dead.get_tradebook())
    step("dead token's book", dead.order_book())


main()
