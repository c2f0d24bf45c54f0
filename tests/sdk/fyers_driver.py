"""Fyers' official SDK at work: login, account, orders, market data, both sockets. Runs in the SDK's environment (style 12).

Reads the simulator's JSON line; writes `{"step", "value"}` lines. Judging is the test's: `test_fyers_sdk.py`.
"""

import datetime
import json
import os
import sys
import threading
import time
import urllib.parse
import urllib.request

import requests
from fyers_apiv3 import fyersModel
from fyers_apiv3.FyersWebsocket import data_ws, defines, order_ws

WAIT_SECONDS = 120
PAUSE_SECONDS = 0.12
"""Between two calls: the broker takes ten a second."""
IST = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
OUT = sys.stdout
sys.stdout = sys.stderr  # the SDK prints
LOGS = os.getcwd()


def step(name, value):
    print(json.dumps({"step": name, "value": value}, default=str), file=OUT, flush=True)


def until(condition):
    ends = time.monotonic() + WAIT_SECONDS
    while not condition() and time.monotonic() < ends:
        time.sleep(0.05)


def slow(call, *arguments, **options):
    time.sleep(PAUSE_SECONDS)
    return call(*arguments, **options)


def use_simulator(line):
    """The SDK's addresses are literals: send them here."""
    fyersModel.Config.API = line["rest_url"]
    fyersModel.Config.DATA_API = line["data_url"]
    defines.INDEX_HSM_MAPPING_API = line["instruments_url"] + "/index_hsm_mapping.json"
    original = data_ws.SymbolConversion.__init__

    def redirected(self, *arguments, **options):
        original(self, *arguments, **options)
        self.symbols_token_api = line["data_url"] + "/symbol-token"

    data_ws.SymbolConversion.__init__ = redirected


def session_model(credentials):
    return fyersModel.SessionModel(
        client_id=credentials["app_id"],
        secret_key=credentials["secret"],
        redirect_uri=credentials["redirect_url"],
        response_type="code",
        grant_type="authorization_code",
        state="x",
    )


def login(line):
    model = session_model(line["credentials"])
    page = requests.get(model.generate_authcode(), allow_redirects=False, timeout=WAIT_SECONDS)
    query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(page.headers["location"]).query))
    step("redirect", {"status": page.status_code, **query})
    model.set_token(query["auth_code"])
    answer = slow(model.generate_token)
    step("tokens", answer)
    step("code used twice", slow(model.generate_token))
    wrong = session_model({**line["credentials"], "secret": "WRONG"})
    wrong.set_token(line["session"]["auth_code"])
    step("wrong secret", slow(wrong.generate_token))
    return answer["access_token"]


def model_of(line, token):
    return fyersModel.FyersModel(client_id=line["credentials"]["app_id"], token=token, is_async=False, log_path=LOGS)


def account(fyers):
    step("profile", slow(fyers.get_profile))
    step("funds", slow(fyers.funds))
    step("holdings", slow(fyers.holdings))
    step("positions", slow(fyers.positions))


def instruments(line):
    def master(name):
        with urllib.request.urlopen(f"{line['instruments_url']}/{name}_sym_master.json") as answer:
            return json.load(answer)

    def first(rows, kind):
        return next(row for row in rows.values() if row["exInstType"] == kind)

    cash = master("NSE_CM")
    return {
        "share": first(cash, 0),
        "index": first(cash, 10),
        "currency": first(master("NSE_CD"), 16),
        "commodity": first(master("MCX_COM"), 30),
    }


def market_data(fyers, chosen):
    symbols = ",".join(row["symTicker"] for row in chosen.values())
    quotes = slow(fyers.quotes, {"symbols": f"{symbols},NSE:NOBODY-EQ"})
    step("quotes", quotes)
    share = chosen["share"]["symTicker"]
    step("depth", slow(fyers.depth, {"symbol": share, "ohlcv_flag": "1"}))
    today = datetime.datetime.now(IST).date()
    span = {"date_format": "1", "range_from": str(today - datetime.timedelta(days=20)), "range_to": str(today)}
    for name, resolution in (("days", "D"), ("minutes", "15"), ("bad resolution", "7")):
        asked = {"symbol": share, "resolution": resolution, "cont_flag": "1", "oi_flag": "1", **span}
        step(name, slow(fyers.history, asked))
    step("status", slow(fyers.market_status))
    return {row["n"]: row["v"] for row in quotes["d"]}


def order(row, **changes):
    return {
        "symbol": row["symTicker"],
        "qty": 1,
        "type": 1,
        "side": 1,
        "productType": "CNC",
        "limitPrice": 0,
        "stopPrice": 0,
        "validity": "DAY",
        "disclosedQty": 0,
        "offlineOrder": False,
        "orderTag": "sdk1",
        **changes,
    }


def trade(fyers, chosen, lower_circuit):
    share = chosen["share"]
    low = round(lower_circuit + 10 * share["tickSize"], 2)
    placed = slow(fyers.place_order, order(share, limitPrice=low, qty=2))
    step("placed", placed)
    order_id = placed["id"]
    step("modified", slow(fyers.modify_order, {"id": order_id, "type": 1, "limitPrice": low, "qty": 3}))
    step("book of one", slow(fyers.orderbook, {"id": order_id}))
    step("cancelled", slow(fyers.cancel_order, {"id": order_id}))
    step("cancelled twice", slow(fyers.cancel_order, {"id": order_id}))
    bought = slow(fyers.place_order, order(chosen["commodity"], type=2, productType="MARGIN", orderTag="sdk2"))["id"]
    step("bought", bought)
    step("orders", slow(fyers.orderbook))
    step("trades", slow(fyers.tradebook))
    step("positions after", slow(fyers.positions))
    step("unknown instrument", slow(fyers.place_order, order({"symTicker": "NSE:NOBODY-EQ"}, limitPrice=1)))
    step("bad order", slow(fyers.place_order, order(share, type=9, limitPrice=1)))


class Heard:
    """Keeps what a socket's callbacks are given, until there is enough."""

    def __init__(self, enough):
        self.messages, self.errors = [], []
        self.done = threading.Event()
        self._enough = enough

    def message(self, message):
        self.messages.append(message)
        if self._enough(self.messages):
            self.done.set()

    def error(self, error):
        self.errors.append(error)

    def seen(self):
        self.done.wait(WAIT_SECONDS)
        return {"messages": list(self.messages), "errors": list(self.errors)}


def data_socket(line, token, symbols, kind, *, lite=False, moves=3):
    """Follow symbols until each was told once and `moves` further messages came."""
    data_ws.FyersDataSocket._instance = None

    def enough(messages):
        feeds = [message for message in messages if "ltp" in message or message.get("type") == "dp"]
        return len({message["symbol"] for message in feeds}) >= len(symbols) and len(feeds) >= len(symbols) + moves

    heard = Heard(enough)
    socket = data_ws.FyersDataSocket(
        access_token=f"{line['credentials']['app_id']}:{token}", log_path=LOGS, litemode=lite, reconnect=False,
        on_message=heard.message, on_error=heard.error, on_close=lambda _: None,
    )  # fmt: skip
    socket._FyersDataSocket__url = line["stream_url"]
    socket.connect()
    until(socket.is_connected)  # it says that it is open two seconds later, whether it is or not
    socket.subscribe(symbols=symbols, data_type=kind)
    seen = heard.seen()
    threading.Thread(target=socket.close_connection, daemon=True).start()
    return seen


def order_socket(line, fyers, token, chosen):
    def enough(messages):
        return any("positions" in message for message in messages) and any("trades" in message for message in messages)

    heard, general = Heard(enough), []
    socket = order_ws.FyersOrderSocket(
        access_token=f"{line['credentials']['app_id']}:{token}", log_path=LOGS, reconnect=False,
        on_orders=heard.message, on_trades=heard.message, on_positions=heard.message, on_general=general.append,
        on_error=heard.error,
    )  # fmt: skip
    socket._FyersOrderSocket__url = line["order_stream_url"]
    socket.connect()
    until(socket.is_connected)
    socket.subscribe("OnOrders,OnTrades,OnPositions,OnGeneral")
    until(lambda: general)  # the subscription's acknowledgement
    slow(fyers.place_order, order(chosen["commodity"], type=2, productType="MARGIN", orderTag="sdk3"))
    return {**heard.seen(), "general": general}


def refused_order_socket(line):
    """What the SDK hears of a handshake with a dead token."""
    order_ws.FyersOrderSocket._instance = None
    heard = Heard(len)
    socket = order_ws.FyersOrderSocket(
        access_token=f"{line['credentials']['app_id']}:dead", log_path=LOGS, reconnect=False, on_error=heard.error,
        on_close=lambda _: None,
    )  # fmt: skip
    socket._FyersOrderSocket__url = line["order_stream_url"]
    socket.connect()
    until(lambda: heard.errors)
    return [str(error) for error in heard.errors]


def main():
    line = json.loads(sys.stdin.readline())
    use_simulator(line)
    token = login(line)
    fyers = model_of(line, token)
    account(fyers)
    chosen = instruments(line)
    step("chosen", chosen)
    market_data(fyers, chosen)
    depth = slow(fyers.depth, {"symbol": chosen["share"]["symTicker"], "ohlcv_flag": "1"})
    trade(fyers, chosen, depth["d"][chosen["share"]["symTicker"]]["lower_ckt"])
    symbols = [row["symTicker"] for row in chosen.values()]
    step("stream trades", data_socket(line, token, symbols, "SymbolUpdate"))
    step("stream lite", data_socket(line, token, symbols, "SymbolUpdate", lite=True, moves=1))
    untraded = [row["symTicker"] for name, row in chosen.items() if name != "index"]
    step("stream depth", data_socket(line, token, untraded, "DepthUpdate"))
    step("order stream", order_socket(line, fyers, token, chosen))
    step("dead order stream", refused_order_socket(line))
    step("dead token", slow(model_of(line, "dead").get_profile))
    step("dead data token", slow(model_of(line, "dead").quotes, {"symbols": symbols[0]}))
    step("logged out", slow(fyers.logout))
    step("after logout", slow(fyers.get_profile))
    OUT.flush()
    os._exit(0)  # the SDK's threads do not end by themselves


main()
