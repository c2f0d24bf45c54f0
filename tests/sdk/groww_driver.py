"""Groww's official SDK at work: login, account, orders, market data, the stream. Runs in the SDK's environment (style 12).

Reads the simulator's JSON line; writes `{"step", "value"}` lines. Judging is the test's: `test_groww_sdk.py`. The SDK's hosts
are literals: they are turned to the simulator here, and its stream's two files of keys land in a folder of their own.
"""

import base64
import contextlib
import csv
import datetime
import hmac
import io
import json
import os
import struct
import sys
import threading
import time
import urllib.request

import requests
from growwapi import GrowwAPI, GrowwFeed
from growwapi.common import files
from growwapi.groww.exceptions import GrowwAPIException

WAIT_SECONDS = 120
IST = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
OUT = sys.stdout


def step(name, value):
    OUT.write(json.dumps({"step": name, "value": value}, default=str) + "\n")
    OUT.flush()


def refused(call, *arguments, **options):
    """Return the code and the words a call ends with."""
    try:
        call(*arguments, **options)
    except GrowwAPIException as error:
        return {"kind": type(error).__name__, "code": error.code, "message": error.msg}
    return None


def one_time_code(secret):
    digest = hmac.new(base64.b32decode(secret), struct.pack(">Q", int(time.time()) // 30), "sha1").digest()
    place = digest[-1] & 15
    return f"{(struct.unpack_from('>I', digest, place)[0] & 0x7FFFFFFF) % 10**6:06d}"


def point_at(line):
    """Turn the SDK's literal addresses to the simulator."""
    real_post = requests.post

    def post(url, *arguments, **options):
        return real_post(url.replace("https://api.groww.in/v1", line["rest_url"]), *arguments, **options)

    requests.post = post
    GrowwAPI._display_changelog = lambda self: None
    GrowwAPI.INSTRUMENT_CSV_URL = line["instruments_url"]
    GrowwAPI._GROWW_GENERATE_SOCKET_TOKEN_URL = f"{line['rest_url']}/api/apex/v1/socket/token/create/"
    GrowwFeed._GROWW_SOCKET_URL = line["stream_url"]
    files.get_cwd = os.getcwd


def client(line, token):
    api = GrowwAPI(token)
    api.domain = line["rest_url"]
    return api


def login(line):
    credentials = line["credentials"]
    token = GrowwAPI.get_access_token(credentials["totp_key"], totp=one_time_code(credentials["totp_secret"]))
    approved = GrowwAPI.get_access_token(credentials["api_key"], secret=credentials["api_secret"])
    step("tokens", [token, approved])
    step("wrong totp", refused(GrowwAPI.get_access_token, credentials["totp_key"], totp="000000"))
    step("wrong key", refused(GrowwAPI.get_access_token, "nobody", totp="000000"))
    step("wrong secret", refused(GrowwAPI.get_access_token, credentials["api_key"], secret="guess"))
    return token


def account(api):
    step("profile", api.get_user_profile())
    step("funds", api.get_available_margin_details())
    step("holdings", api.get_holdings_for_user())
    step("positions", api.get_positions_for_user())
    step("positions of a segment", api.get_positions_for_user(segment="FNO"))


def instruments(line):
    with urllib.request.urlopen(line["instruments_url"]) as answer:
        rows = list(csv.DictReader(io.StringIO(answer.read().decode())))

    def first(exchange, segment, kind, series=("EQ", "")):
        return next(
            row
            for row in rows
            if (row["exchange"], row["segment"], row["instrument_type"]) == (exchange, segment, kind)
            and row["series"] in series
        )

    return {
        "share": first("NSE", "CASH", "EQ"),
        "index": first("NSE", "CASH", "IDX"),
        "future": first("NSE", "FNO", "FUT"),
        "commodity": first("MCX", "COMMODITY", "FUT"),
    }


def named(row):
    return {"exchange": row["exchange"], "segment": row["segment"], "trading_symbol": row["trading_symbol"]}


def market_data(api, chosen):
    quotes = {name: api.get_quote(**named(row)) for name, row in chosen.items()}
    step("quotes", quotes)
    share, index = chosen["share"], chosen["index"]
    symbols = tuple(f"NSE_{row['trading_symbol']}" for row in (share, index))
    step("ltp", api.get_ltp(symbols, "CASH"))
    step("ltp of a text", api.get_ltp(",".join(symbols), "CASH"))
    step("ohlc", api.get_ohlc(symbols, "CASH"))
    step("unknown symbol", refused(api.get_quote, "NOBODY", "NSE", "CASH"))
    now = datetime.datetime.now(IST)
    days = (now - datetime.timedelta(days=20)).strftime("%Y-%m-%d %H:%M:%S"), now.strftime("%Y-%m-%d %H:%M:%S")
    for name, interval in (("share", "1day"), ("future", "15minute"), ("index", "1hour")):
        row = chosen[name]
        candles = api.get_historical_candles(row["exchange"], row["segment"], row["groww_symbol"], *days, interval)
        step(f"candles {name}", candles)
    step("bad interval", refused(api.get_historical_candles, "NSE", "CASH", share["groww_symbol"], *days, "7minute"))
    future = chosen["future"]
    step("expiries", api.get_expiries("NSE", future["underlying_symbol"]))
    step("contracts", api.get_contracts("NSE", future["underlying_symbol"], future["expiry_date"]))
    return quotes


def place(api, row, **changes):
    fields = {
        "validity": "DAY",
        "order_type": "LIMIT",
        "product": "CNC" if row["segment"] == "CASH" else "NRML",
        "quantity": int(row["lot_size"]),
        "transaction_type": "BUY",
        "price": 0.0,
        **named(row),
        **changes,
    }
    return api.place_order(**fields)


def trade(api, chosen, quotes):
    share = chosen["share"]
    low = round(quotes["share"]["lower_circuit_limit"] + 10 * float(share["tick_size"]), 2)
    placed = place(api, share, price=low, quantity=2, order_reference_id="obsdk0000001")
    step("placed", placed)
    order_id = placed["groww_order_id"]
    step("placed twice", refused(place, api, share, price=low, quantity=2, order_reference_id="obsdk0000001"))
    step("modified", api.modify_order("LIMIT", "CASH", order_id, 3, price=low))
    step("detail", api.get_order_detail("CASH", order_id))
    step("status", api.get_order_status("CASH", order_id))
    step("status by reference", api.get_order_status_by_reference("CASH", "obsdk0000001"))
    step("cancelled", api.cancel_order(segment="CASH", groww_order_id=order_id))
    step("cancelled twice", refused(api.cancel_order, segment="CASH", groww_order_id=order_id))
    bought = place(api, chosen["future"], order_type="MARKET", order_reference_id="obsdk0000002")["groww_order_id"]
    step("bought", bought)
    crude = place(api, chosen["commodity"], order_type="MARKET", order_reference_id="obsdk0000003")["groww_order_id"]
    step("orders", {each: api.get_order_list(segment=each, page_size=100) for each in ("CASH", "FNO", "COMMODITY")})
    step("trades", api.get_trade_list_for_order(bought, "FNO"))
    step("trades of a commodity", api.get_trade_list_for_order(crude, "COMMODITY"))
    step("positions after", api.get_positions_for_user())
    step("unknown instrument", refused(place, api, {**share, "trading_symbol": "NOBODY"}, price=1.0))


def margins(api, chosen):
    """What a future would need, alone and twice over, and a share; two shares, and a contract that does not exist."""
    future, share = (
        {**named(row), "quantity": int(row["lot_size"]), "transaction_type": "SELL", "price": None, "order_type": "MARKET", "product": product}
        for row, product in ((chosen["future"], "NRML"), (chosen["share"], "MIS"))
    )  # fmt: skip
    step("margin", api.get_order_margin_details("FNO", [future]))
    step("margin of two", api.get_order_margin_details("FNO", [future, future]))
    step("margin of a share", api.get_order_margin_details("CASH", [share]))
    step("margin of two shares", refused(api.get_order_margin_details, "CASH", [share, share]))
    step("margin of nothing", refused(api.get_order_margin_details, "FNO", [{**future, "trading_symbol": "NOBODY"}]))


def wait_for(condition):
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)


def stream(api, chosen):
    feed = GrowwFeed(api)
    share, future, index = (
        {**named(chosen[name]), "exchange_token": chosen[name]["exchange_token"]}
        for name in ("share", "future", "index")
    )
    moved, orders = threading.Event(), []
    feed.subscribe_ltp([share, future], lambda meta: moved.set())
    feed.subscribe_market_depth([share, future])
    feed.subscribe_index_value([index])

    def heard(read):
        return lambda meta: orders.append([meta["feed_type"], meta["segment"], read()])

    feed.subscribe_equity_order_updates(heard(feed.get_equity_order_update))
    feed.subscribe_fno_order_updates(heard(feed.get_fno_order_update))
    feed.subscribe_fno_position_updates(heard(feed.get_fno_position_update))

    def complete():
        prices, depth, values = feed.get_ltp(), feed.get_market_depth(), feed.get_index_value()
        both = (("CASH", share), ("FNO", future))
        seen = [kind["NSE"][segment][row["exchange_token"]] for kind in (prices, depth) for segment, row in both]
        return all(seen) and values["NSE"]["CASH"][index["exchange_token"]]

    def is_complete():
        with contextlib.suppress(KeyError, TypeError):
            return bool(complete())
        return False

    wait_for(is_complete)
    step("prices", feed.get_ltp())
    step("depth", feed.get_market_depth())
    step("index", feed.get_index_value())
    place(api, chosen["share"], order_type="MARKET", quantity=1, order_reference_id="obsdk0000004")
    place(api, chosen["future"], order_type="MARKET", order_reference_id="obsdk0000005")
    wait_for(lambda: len({(kind, segment) for kind, segment, _ in orders}) >= 3)
    step("order updates", orders)
    step("unsubscribed", feed.unsubscribe_ltp([share, future]))


def main():
    line = json.loads(sys.stdin.readline())
    sys.stdout = sys.stderr  # the SDK prints
    point_at(line)
    api = client(line, login(line))
    account(api)
    chosen = instruments(line)
    step("chosen", chosen)
    trade(api, chosen, market_data(api, chosen))
    margins(api, chosen)
    stream(api, chosen)
    dead = client(line, "dead")
    step("dead token", refused(dead.get_user_profile))
    step("dead token at the stream", refused(GrowwFeed, dead))


main()
