"""Angel One's official SDK at work: login, account, market data, orders, both sockets. Runs in the SDK's environment (style 12).

Reads the simulator's JSON line; writes `{"step", "value"}` lines. Judging is the test's: `test_angelone_sdk.py`. The SDK
asks an address service for its own address when imported: the runner refuses the call.
"""

import datetime
import json
import os
import sys
import threading
import time

import pyotp
import requests
import websocket
from SmartApi.smartConnect import SmartConnect
from SmartApi.smartWebSocketOrderUpdate import SmartWebSocketOrderUpdate
from SmartApi.smartWebSocketV2 import SmartWebSocketV2

WAIT_SECONDS = 120
IST = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
TYPES = {"NSE": 1, "NFO": 2, "BSE": 3, "BFO": 4, "MCX": 5, "NCDEX": 7, "CDS": 13}


def step(name, value):
    print(json.dumps({"step": name, "value": value}, default=str), flush=True)


def login(line):
    credentials = line["credentials"]
    SmartConnect._rootUrl = line["rest_url"]  # one call of the SDK's looks here and not at the root it was given
    smart = SmartConnect(credentials["api_key"], root=line["rest_url"], timeout=WAIT_SECONDS)
    code = pyotp.TOTP(credentials["totp_secret"])
    wrong = f"{(int(code.now()) + 1) % 10**6:06d}"
    if wrong in (code.now(), code.at(time.time() - 30)):
        wrong = "000000"
    step("wrong code", smart.generateSession(credentials["client_code"], credentials["pin"], wrong))
    step("wrong pin", smart.generateSession(credentials["client_code"], "0", code.now()))
    session = smart.generateSession(credentials["client_code"], credentials["pin"], code.now())
    step("session", session)
    return smart, session["data"]


def account(smart):
    step("profile", smart.getProfile(smart.refresh_token))
    step("funds", smart.rmsLimit())
    step("holdings", smart.holding())
    step("all holdings", smart.allholding())
    step("positions", smart.position())


def pick(rows):
    def first(**wanted):
        return next(row for row in rows if all(row[name] == value for name, value in wanted.items()))

    return {
        "share": first(exch_seg="NSE", instrumenttype=""),
        "index": first(instrumenttype="AMXIDX"),
        "option": first(instrumenttype="OPTIDX", exch_seg="NFO"),
        "currency": first(instrumenttype="FUTCUR"),
        "commodity": first(instrumenttype="FUTCOM", exch_seg="MCX"),
        "farm": first(instrumenttype="FUTCOM", exch_seg="NCDEX"),
    }


def market_data(smart, line):
    rows = requests.get(line["instruments_url"], timeout=WAIT_SECONDS).json()
    chosen = pick(rows)
    step("chosen", chosen)
    wanted = {}
    for row in chosen.values():
        wanted.setdefault(row["exch_seg"], []).append(row["token"])
    for mode in ("FULL", "OHLC", "LTP"):
        step(f"quote {mode}", smart.getMarketData(mode, {**wanted, "NFO": [*wanted["NFO"], "1"]}))
    share = chosen["share"]
    step("ltp", smart.ltpData("NSE", share["symbol"], share["token"]))
    step("search", smart.searchScrip("NSE", share["name"]))
    end = datetime.datetime.now(IST)
    span = {
        "exchange": "NSE", "symboltoken": share["token"], "interval": "ONE_DAY",
        "fromdate": f"{end - datetime.timedelta(days=20):%Y-%m-%d %H:%M}", "todate": f"{end:%Y-%m-%d %H:%M}",
    }  # fmt: skip
    step("days", smart.getCandleData(dict(span)))
    step("minutes", smart.getCandleData({**span, "interval": "FIVE_MINUTE"}))
    step("bad interval", smart.getCandleData({**span, "interval": "SEVEN_MINUTE"}))
    farm = {**span, "exchange": "MCX", "symboltoken": chosen["commodity"]["token"]}
    step("interest", smart.getOIData(farm))
    return chosen


def order_of(row, **changes):
    return {
        "variety": "NORMAL", "tradingsymbol": row["symbol"], "symboltoken": row["token"], "transactiontype": "BUY",
        "exchange": row["exch_seg"], "ordertype": "MARKET", "producttype": "INTRADAY", "duration": "DAY", "price": "0",
        "squareoff": "0", "stoploss": "0", "quantity": "1", **changes,
    }  # fmt: skip


def orders(smart, chosen):
    share = chosen["share"]
    low = smart.getMarketData("FULL", {"NSE": [share["token"]]})["data"]["fetched"][0]["lowerCircuit"]
    price = f"{low + float(share['tick_size']) / 100:.2f}"
    limit = order_of(share, ordertype="LIMIT", producttype="DELIVERY", price=price, quantity="2", ordertag="sdk1")
    full = smart.placeOrderFullResponse(dict(limit))
    step("placed", full)
    order_id, unique = full["data"]["orderid"], full["data"]["uniqueorderid"]
    change = {
        "variety": "NORMAL", "orderid": order_id, "ordertype": "LIMIT", "producttype": "DELIVERY", "duration": "DAY",
        "price": price, "quantity": "3", "tradingsymbol": share["symbol"], "symboltoken": share["token"],
        "exchange": "NSE",
    }  # fmt: skip
    step("modified", smart.modifyOrder(change))
    step("details", smart.individual_order_details(unique))
    step("wrong variety", smart.cancelOrder(order_id, "AMO"))
    step("cancelled", smart.cancelOrder(order_id, "NORMAL"))
    step("cancelled twice", smart.cancelOrder(order_id, "NORMAL"))
    step("unknown instrument", smart.placeOrder({**limit, "symboltoken": "1"}))
    step("too long a tag", smart.placeOrderFullResponse({**limit, "ordertag": "x" * 20}))
    step("share bought", smart.placeOrder(order_of(share)))
    step("lots bought", smart.placeOrder(order_of(chosen["commodity"], producttype="CARRYFORWARD")))
    stop = order_of(
        share, variety="STOPLOSS", ordertype="STOPLOSS_LIMIT", transactiontype="SELL", price=price, triggerprice=price
    )
    stopped = smart.placeOrder(stop)
    step("stop", stopped)
    step("orders", smart.orderBook())
    step("trades", smart.tradeBook())
    step("positions after", smart.position())
    step("stop cancelled", smart.cancelOrder(stopped, "STOPLOSS"))


def margins(smart, chosen):
    """What an option sold would need, alone and with a currency future beside it; and a contract that does not exist."""
    option, currency = ({
        "exchange": row["exch_seg"], "qty": quantity, "price": 0, "productType": "CARRYFORWARD", "token": row["token"],
        "tradeType": "SELL", "orderType": "MARKET",
    } for row, quantity in ((chosen["option"], int(chosen["option"]["lotsize"])), (chosen["currency"], 1)))  # fmt: skip
    step("margin", smart.getMarginApi({"positions": [option]}))
    step("margin of two", smart.getMarginApi({"positions": [option, currency]}))
    step("margin of nothing", smart.getMarginApi({"positions": [{**option, "token": "1"}]}))


def sockets(smart, line, session, chosen):
    """Packets of every mode for every kind of instrument, then the updates of an order placed meanwhile."""
    credentials = line["credentials"]
    login = (session["jwtToken"], credentials["api_key"], credentials["client_code"], session["feedToken"])
    SmartWebSocketV2.ROOT_URI, SmartWebSocketOrderUpdate.WEBSOCKET_URI = line["stream_url"], line["order_stream_url"]
    tokens = [{"exchangeType": TYPES[row["exch_seg"]], "tokens": [row["token"]]} for row in chosen.values()]
    packets, updates = {mode: {} for mode in (1, 2, 3, 4)}, []
    opened, all_here, updated = threading.Event(), threading.Event(), threading.Event()
    market, placed = SmartWebSocketV2(*login), []

    def on_open(wsapp):
        for mode in (1, 2, 3):
            market.subscribe("abcde12345", mode, json.loads(json.dumps(tokens)))
        market.subscribe("abcde12345", 4, [{"exchangeType": 1, "tokens": [chosen["share"]["token"]]}])
        opened.set()

    def on_data(wsapp, packet):
        packets[packet["subscription_mode"]][packet["token"]] = packet
        if [len(packets[mode]) for mode in (1, 2, 3, 4)] == [len(tokens)] * 3 + [1]:
            all_here.set()

    class Orders(SmartWebSocketOrderUpdate):
        def on_message(self, wsapp, message):
            updates.append(json.loads(message))
            if placed and any(each["orderData"].get("orderid") == placed[0] for each in updates):
                updated.set()

    market.on_open, market.on_data = on_open, on_data
    threading.Thread(target=market.connect, daemon=True).start()
    threading.Thread(target=Orders(*login).connect, daemon=True).start()
    step("market opened", opened.wait(WAIT_SECONDS))
    step("packets in time", all_here.wait(WAIT_SECONDS))
    deadline = time.monotonic() + WAIT_SECONDS
    while not updates and time.monotonic() < deadline:
        time.sleep(0.05)
    placed.append(smart.placeOrder(order_of(chosen["share"])))
    while time.monotonic() < deadline and not updated.is_set():
        updated.wait(0.1)
        if any(
            each["orderData"].get("orderid") == placed[0] and each["order-status"] == "AB05" for each in list(updates)
        ):
            updated.set()
        else:
            updated.clear()
    step("update in time", updated.is_set())
    step("greeting", updates[0])
    step("updates", [each for each in updates if each["orderData"].get("orderid") == placed[0]])
    step("packets", {str(mode): list(each.values()) for mode, each in packets.items()})


def heartbeat(line, session):
    """What the SDK leaves to its caller: the text ping, the error frame, a refused handshake."""
    credentials = line["credentials"]
    headers = {
        "Authorization": session["jwtToken"], "x-api-key": credentials["api_key"],
        "x-client-code": credentials["client_code"], "x-feed-token": session["feedToken"],
    }  # fmt: skip
    one = websocket.create_connection(line["stream_url"], header=headers, timeout=WAIT_SECONDS)
    one.send("ping")
    step("pong", one.recv())
    one.send("nonsense")
    step("bad request", json.loads(one.recv()))
    one.close()
    try:
        websocket.create_connection(line["stream_url"], header={**headers, "x-feed-token": "x"}, timeout=WAIT_SECONDS)
    except websocket.WebSocketBadStatusException as error:
        step("refused handshake", {"status": error.status_code, "message": error.resp_headers.get("x-error-message")})


def ending(smart, session, line):
    step("renewed", smart.generateToken(session["refreshToken"]))
    step("profile after renewal", smart.getProfile(""))
    step("logged out", smart.terminateSession(line["credentials"]["client_code"]))
    step("after logout", smart.getProfile(""))
    step("orders after logout", smart.orderBook())


def main():
    line = json.loads(sys.stdin.readline())
    smart, session = login(line)
    account(smart)
    chosen = market_data(smart, line)
    orders(smart, chosen)
    margins(smart, chosen)
    sockets(smart, line, session, chosen)
    heartbeat(line, session)
    ending(smart, session, line)


main()
sys.stdout.flush()
os._exit(0)  # the SDK reconnects for ever in threads of its own
