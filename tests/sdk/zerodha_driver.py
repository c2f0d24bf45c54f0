"""Kite's official SDK at work: login, account, orders, market data, ticker. Runs in the SDK's environment (style 12).

Reads the simulator's JSON line; writes `{"step", "value"}` lines. Judging is the test's: `test_zerodha_sdk.py`.
"""

import datetime
import json
import sys
import threading

from kiteconnect import KiteConnect, KiteTicker, exceptions
from kiteconnect.ticker import KiteTickerClientProtocol
from twisted.internet import reactor

WAIT_SECONDS = 120
IST = datetime.timezone(datetime.timedelta(hours=5, minutes=30))


def step(name, value):
    print(json.dumps({"step": name, "value": value}, default=str), flush=True)


def refused(call, *arguments, **options):
    """Return the SDK's exception, by name and text, that a call ends with."""
    try:
        call(*arguments, **options)
    except exceptions.KiteException as error:
        return {"type": type(error).__name__, "code": error.code, "message": str(error)}
    return None


def login(line):
    credentials, session = line["credentials"], line["session"]
    kite = KiteConnect(credentials["api_key"], root=line["rest_url"], timeout=WAIT_SECONDS)
    step("session", kite.generate_session(session["request_token"], credentials["api_secret"]))
    again = KiteConnect(credentials["api_key"], root=line["rest_url"], timeout=WAIT_SECONDS)
    step("code used twice", refused(again.generate_session, session["request_token"], credentials["api_secret"]))
    step("renewed", again.renew_access_token(session["refresh_token"], credentials["api_secret"]))
    return kite


def account(kite):
    step("profile", kite.profile())
    step("margins", kite.margins())
    step("margins equity", kite.margins("equity"))
    step("holdings", kite.holdings())
    step("positions", kite.positions())


def pick(instruments):
    """Return one share, one index, one currency future and one MCX future."""

    def first(test):
        return next(each for each in instruments if test(each))

    return {
        "share": first(lambda each: each["segment"] == "NSE" and "-" not in each["tradingsymbol"]),
        "index": first(lambda each: each["segment"] == "INDICES"),
        "currency": first(lambda each: each["segment"] == "CDS-FUT"),
        "commodity": first(lambda each: each["segment"] == "MCX-FUT"),
    }


def market_data(kite):
    instruments = kite.instruments()
    step("instruments", len(instruments))
    step("instruments mcx", len(kite.instruments("MCX")))
    chosen = pick(instruments)
    step("chosen", chosen)
    names = [f"{each['exchange']}:{each['tradingsymbol']}" for each in chosen.values()]
    step("quote", kite.quote(names))
    step("ohlc", kite.ohlc(names))
    step("ltp", kite.ltp([*names, "NSE:NOSUCH"]))
    end = datetime.datetime.now(IST)
    start = end - datetime.timedelta(days=20)
    token = chosen["share"]["instrument_token"]
    step("days", kite.historical_data(token, start, end, "day", oi=True))
    step("minutes", kite.historical_data(token, end - datetime.timedelta(days=3), end, "5minute")[:5])
    step("bad interval", refused(kite.historical_data, token, start, end, "7minute"))
    return chosen


def orders(kite, chosen):
    share = chosen["share"]
    quote = kite.quote(f"{share['exchange']}:{share['tradingsymbol']}")
    circuit = next(iter(quote.values()))["lower_circuit_limit"]
    order = {
        "variety": "regular", "exchange": share["exchange"], "tradingsymbol": share["tradingsymbol"],
        "transaction_type": "BUY", "quantity": 2, "product": "CNC", "order_type": "LIMIT", "validity": "DAY",
        "price": round(circuit / share["tick_size"] + 1) * share["tick_size"], "tag": "sdk1",
    }  # fmt: skip
    order["price"] = round(order["price"], 2)
    order_id = kite.place_order(**order)
    step("placed", order_id)
    step("modified", kite.modify_order("regular", order_id, quantity=3, price=order["price"], order_type="LIMIT"))
    step("cancelled", kite.cancel_order("regular", order_id))
    step("order history", kite.order_history(order_id))
    step("cancelled twice", refused(kite.cancel_order, "regular", order_id))
    step("cancelled unknown", refused(kite.cancel_order, "regular", "1"))
    step("bad order", refused(kite.place_order, **{**order, "quantity": 0}))
    market = {**order, "order_type": "MARKET", "quantity": 1, "product": "MIS", "market_protection": -1}
    del market["price"]
    filled = kite.place_order(**market)
    step("filled", filled)
    lots = {**market, "exchange": "MCX", "tradingsymbol": chosen["commodity"]["tradingsymbol"], "product": "NRML"}
    step("lots", kite.place_order(**lots))
    step("orders", kite.orders())
    step("trades", kite.trades())
    step("order trades", kite.order_trades(filled))
    return market


def order_margins(kite, chosen):
    """What one MCX future would need, bought and sold; and a contract that does not exist."""
    order = {
        "exchange": "MCX", "tradingsymbol": chosen["commodity"]["tradingsymbol"], "transaction_type": "SELL", "variety": "regular",
        "product": "NRML", "order_type": "MARKET", "quantity": 1, "price": 0, "trigger_price": 0,
    }  # fmt: skip
    step("order margins", kite.order_margins([order, {**order, "transaction_type": "BUY", "quantity": 2}]))
    step("margin of nothing", refused(kite.order_margins, [{**order, "tradingsymbol": "NOSUCH"}]))


def ticker(kite, line, chosen, order):
    """Full ticks of three kinds of instrument, then the update of an order placed meanwhile."""
    tokens = [chosen[kind]["instrument_token"] for kind in ("share", "index", "currency", "commodity")]
    socket = KiteTicker(line["credentials"]["api_key"], kite.access_token, root=line["stream_url"])
    ticks, updates, errors = {}, [], []
    seen, updated = threading.Event(), threading.Event()
    in_mode = {mode: threading.Event() for mode in ("ltp", "quote")}
    placed = []

    def on_connect(ws, response):
        ws.subscribe(tokens)
        ws.set_mode(ws.MODE_FULL, tokens)

    def on_ticks(ws, arrived):
        ticks.update({tick["instrument_token"]: tick for tick in arrived if tick["mode"] == "full"})
        if len(ticks) == len(tokens):
            seen.set()
        for tick in arrived:
            if seen.is_set() and tick["mode"] in in_mode:
                in_mode[tick["mode"]].set()

    def on_order_update(ws, data):
        updates.append(data)
        if placed and any(each["order_id"] == placed[0] and each["status"] == "COMPLETE" for each in updates):
            updated.set()

    socket.on_connect, socket.on_ticks, socket.on_order_update = on_connect, on_ticks, on_order_update
    socket.on_error = lambda ws, code, reason: errors.append([code, str(reason)])
    KiteTickerClientProtocol.PING_INTERVAL = WAIT_SECONDS  # it drops a connection without a pong for twice as long
    socket.connect(threaded=True)
    step("ticks in time", seen.wait(WAIT_SECONDS))
    placed.append(kite.place_order(**order))
    on_order_update(None, {"order_id": "", "status": ""})  # the update may have come before the id
    step("update in time", updated.wait(WAIT_SECONDS))
    for mode, event in in_mode.items():
        event.clear()
        reactor.callFromThread(socket.set_mode, mode, tokens)
        step(f"{mode} in time", event.wait(WAIT_SECONDS))
    step("ticks", [ticks.get(token) for token in tokens])
    step("updates", [each for each in updates if each["order_id"] == placed[0]])
    step("errors", errors)
    socket.close()


def logout(kite):
    expired = []
    kite.set_session_expiry_hook(lambda: expired.append(True))
    step("logout", kite.invalidate_access_token())
    step("after logout", refused(kite.profile))
    step("expiry hook called", bool(expired))


def main():
    line = json.loads(sys.stdin.readline())
    kite = login(line)
    account(kite)
    chosen = market_data(kite)
    order = orders(kite, chosen)
    order_margins(kite, chosen)
    ticker(kite, line, chosen, order)
    logout(kite)


main()
