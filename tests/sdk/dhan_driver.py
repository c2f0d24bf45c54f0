"""Dhan's official SDK at work: login, account, orders, market data, both streams. Runs in the SDK's environment (style 12).

Reads the simulator's JSON line; writes `{"step", "value"}` lines. Judging is the test's: `test_dhan_sdk.py`.
"""

import asyncio
import datetime
import json
import sys
import tempfile
import threading
from pathlib import Path

import pyotp
from dhanhq import DhanContext, DhanLogin, OrderUpdate, dhanhq
from dhanhq._security import Security
from dhanhq.dhan_http import DhanHTTP
from dhanhq.marketfeed import MarketFeed

OUT = sys.stdout
sys.stdout = sys.stderr  # the SDK prints as it goes
WAIT_SECONDS, TRIES = 120, 24
IST = datetime.timezone(datetime.timedelta(hours=5, minutes=30))


def step(name, value):
    print(json.dumps({"step": name, "value": value}, default=str), file=OUT, flush=True)


def refused(call, *arguments):
    try:
        return {"answer": call(*arguments)}
    except Exception as error:  # noqa: BLE001  # the SDK raises bare exceptions
        return {"error": str(error)}


def login(line):
    """Every call of the login class; its answers are the broker's own bodies."""
    credentials = line["credentials"]
    DhanLogin.AUTH_BASE_URL, DhanLogin.API_BASE_URL = line["auth_url"], line["rest_url"]
    DhanHTTP.API_BASE_URL = line["rest_url"]
    desk = DhanLogin(credentials["client_id"])
    code = pyotp.TOTP(credentials["totp_secret"]).now()
    made = desk.generate_token(credentials["pin"], code)
    step("token", made)
    step("wrong code", refused(desk.generate_token, credentials["pin"], str((int(code) + 500_000) % 1_000_000)))
    step("wrong pin", refused(desk.generate_token, "000000x", code))
    step("profile", desk.user_profile(made["accessToken"]))
    renewed = desk.renew_token(made["accessToken"])
    step("renewed", renewed)
    step("old token", refused(desk.user_profile, made["accessToken"]))
    return DhanContext(credentials["client_id"], renewed["accessToken"])


def account(dhan):
    step("funds", dhan.get_fund_limits())
    step("holdings", dhan.get_holdings())
    step("positions", dhan.get_positions())


def security_list(line, mode):
    with tempfile.TemporaryDirectory() as folder:
        return Security.fetch_security_list(mode, str(Path(folder) / "list.csv"))


def pick(line):
    """Read both files; return one share, one index, one option, one currency and one MCX future."""
    Security.COMPACT_CSV_URL = line["instruments_url"] + "/api-scrip-master.csv"
    Security.DETAILED_CSV_URL = line["instruments_url"] + "/api-scrip-master-detailed.csv"
    compact, detailed = security_list(line, "compact"), security_list(line, "detailed")
    step("compact", [len(compact), list(compact.columns)])
    step("detailed", [len(detailed), list(detailed.columns)])
    chosen = {}
    for kind, (exchange, letter, instrument, segment) in {
        "share": ("NSE", "E", "EQUITY", "NSE_EQ"),
        "index": ("NSE", "I", "INDEX", "IDX_I"),
        "option": ("NSE", "D", "OPTIDX", "NSE_FNO"),
        "currency": ("NSE", "C", "FUTCUR", "NSE_CURRENCY"),
        "commodity": ("MCX", "M", "FUTCOM", "MCX_COMM"),
    }.items():
        rows = compact[
            (compact["SEM_EXM_EXCH_ID"] == exchange)
            & (compact["SEM_SEGMENT"] == letter)
            & (compact["SEM_INSTRUMENT_NAME"] == instrument)
            & ~compact["SEM_TRADING_SYMBOL"].str.contains("NSETEST")
        ]
        row = rows.iloc[0]
        same = detailed[
            (detailed["EXCH_ID"] == exchange)
            & (detailed["SEGMENT"] == letter)
            & (detailed["SECURITY_ID"] == row["SEM_SMST_SECURITY_ID"])
        ].iloc[0]
        chosen[kind] = {
            "segment": segment, "instrument": instrument, "id": str(row["SEM_SMST_SECURITY_ID"]),
            "symbol": row["SEM_TRADING_SYMBOL"], "lot": float(row["SEM_LOT_UNITS"]), "tick": float(row["SEM_TICK_SIZE"]),
            "isin": str(same["ISIN"]), "freeze": int(same["SM_FREEZE_QTY"]), "upper": float(same["SM_UPPER_LIMIT"]),
        }  # fmt: skip
    step("chosen", chosen)
    return chosen


def market_data(dhan, chosen):
    asked = {}
    for each in chosen.values():
        asked.setdefault(each["segment"], []).append(int(each["id"]))
    step("quote", dhan.quote_data(dict(asked)))
    step("ohlc", dhan.ohlc_data(dict(asked)))
    step("ltp", dhan.ticker_data({**asked, "BSE_EQ": [1]}))
    today = datetime.datetime.now(IST).date()
    start = today - datetime.timedelta(days=20)
    for kind in ("share", "option"):
        one = chosen[kind]
        names = (one["id"], one["segment"], one["instrument"])
        step(f"days {kind}", dhan.historical_daily_data(*names, str(start), str(today), oi=True))
        day = str(today - datetime.timedelta(days=3))
        step(f"minutes {kind}", dhan.intraday_minute_data(*names, day, str(today), 5, oi=True))
    share = chosen["share"]
    wrong = (share["id"], share["segment"], "FUTIDX", str(start), str(today))
    step("wrong instrument", dhan.historical_daily_data(*wrong))
    return today


def orders(dhan, chosen, quotes):
    share = chosen["share"]
    quote = quotes["data"]["data"]["NSE_EQ"][share["id"]]
    low = round(quote["lower_circuit_limit"] + share["tick"] / 100, 2)
    terms = (dhan.BUY, 2, dhan.LIMIT, dhan.CNC, low)
    placed = dhan.place_order(share["id"], dhan.NSE, *terms, tag="sdk 1")
    step("placed", placed)
    order_id = placed["data"]["orderId"]
    step("modified", dhan.modify_order(order_id, dhan.LIMIT, "", 3, low, 0, 0, dhan.DAY))
    step("cancelled", dhan.cancel_order(order_id))
    step("cancelled twice", dhan.cancel_order(order_id))
    step("cancelled unknown", dhan.cancel_order("1"))
    step("one order", dhan.get_order_by_id(order_id))
    step("by tag", dhan.get_order_by_correlationID("sdk 1"))
    step("bad order", dhan.place_order(share["id"], dhan.NSE, dhan.BUY, 0, dhan.LIMIT, dhan.CNC, low))
    too_high = round(quote["upper_circuit_limit"] * 2, 1)
    step("refused order", dhan.place_order(share["id"], dhan.NSE, dhan.BUY, 1, dhan.LIMIT, dhan.INTRA, too_high))
    filled = dhan.place_order(share["id"], dhan.NSE, dhan.BUY, 1, dhan.MARKET, dhan.INTRA, 0)
    step("filled", filled)
    commodity = chosen["commodity"]
    step("lots", dhan.place_order(commodity["id"], dhan.MCX, dhan.BUY, 1, dhan.MARKET, dhan.MARGIN, 0))
    option = chosen["option"]
    most = option["freeze"] + int(option["lot"])
    sliced = dhan.place_slice_order(option["id"], dhan.FNO, dhan.BUY, most, dhan.LIMIT, dhan.MARGIN, 0.05)
    step("sliced", sliced)
    step("orders", dhan.get_order_list())
    step("trades", dhan.get_trade_book())
    step("order trades", dhan.get_trade_book(filled["data"]["orderId"]))
    step("positions after", dhan.get_positions())


def margins(dhan, chosen):
    """What commodity lots and options sold would need; and a contract that does not exist."""
    lots, option = chosen["commodity"], chosen["option"]
    terms = (dhan.MCX, dhan.SELL)
    step("margin", dhan.margin_calculator(lots["id"], *terms, 1, dhan.MARGIN, 0))
    step("margin of two", dhan.margin_calculator(lots["id"], *terms, 2, dhan.MARGIN, 0))
    step(
        "margin of options",
        dhan.margin_calculator(option["id"], dhan.FNO, dhan.SELL, int(option["lot"]), dhan.MARGIN, 10.0),
    )
    currency = chosen["currency"]
    step(
        "margin of currency", dhan.margin_calculator(currency["id"], currency["segment"], dhan.SELL, 1, dhan.MARGIN, 0)
    )
    step("margin of nothing", dhan.margin_calculator("1", *terms, 1, dhan.MARGIN, 0))


def market_stream(context, chosen):
    """Every kind of packet of four kinds of instrument: full first, then tickers and quotes of another connection."""
    numbers = {"NSE_EQ": 1, "IDX_I": 0, "NSE_FNO": 2, "NSE_CURRENCY": 3, "MCX_COMM": 5}
    kinds = ("share", "index", "currency", "commodity")
    names = {kind: (numbers[chosen[kind]["segment"]], chosen[kind]["id"]) for kind in kinds}
    for title, code, wanted in (
        (
            "full", MarketFeed.Full,
            {*(("Full Data", kind) for kind in kinds if kind != "index"), ("Quote Data", "index"), ("Previous Close", "share")},
        ),
        (
            "quote", MarketFeed.Quote,
            {("Quote Data", "share"), ("Quote Data", "index"), ("Quote Data", "commodity"), ("OI Data", "commodity")},
        ),
        ("ticker", MarketFeed.Ticker, {("Ticker Data", kind) for kind in kinds}),
    ):  # fmt: skip
        packets, done = {}, threading.Event()
        by_id = {number: kind for kind, number in names.items()}

        def heard(feed, data, packets=packets, wanted=wanted, done=done, by_id=by_id):
            if isinstance(data, dict):
                kind = by_id[data["exchange_segment"], str(data["security_id"])]
                packets[f"{data['type']} {kind}"] = data
                if all(f"{each[0]} {each[1]}" in packets for each in wanted):
                    done.set()

        feed = MarketFeed(context, [(*number, code) for number in names.values()], "v2", on_message=heard)
        feed.start()
        step(f"{title} in time", done.wait(WAIT_SECONDS))
        step(f"{title} packets", packets)
        feed.close_connection()


def order_stream(context, dhan, line, chosen):
    updates, done, placed = [], threading.Event(), []

    def heard(update):
        updates.append(update)
        if placed and any(
            each["Data"]["orderNo"] == placed[0] and each["Data"]["status"] == "Traded" for each in updates
        ):
            done.set()

    stream = OrderUpdate(context)
    stream.order_feed_wss = line["order_stream_url"]
    stream.on_update = heard
    threading.Thread(target=lambda: asyncio.run(stream.connect_order_update()), daemon=True).start()
    share = chosen["share"]
    for _ in range(TRIES):
        # The stream says nothing of its own to tell that it listens: orders until one is heard of.
        answer = dhan.place_order(share["id"], dhan.NSE, dhan.BUY, 1, dhan.MARKET, dhan.INTRA, 0)
        placed[:] = [answer["data"]["orderId"]]
        if done.wait(WAIT_SECONDS / TRIES):
            break
    step("update in time", done.is_set())
    step("updates", [each for each in updates if each["Data"]["orderNo"] == placed[0]])


def dead(line, dhan, chosen):
    """What a token nobody knows is answered with, by each family of calls."""
    dhan.dhan_http.header["access-token"] = "nobody"
    step("dead trading", dhan.get_order_list())
    step("dead data", dhan.ticker_data({"NSE_EQ": [int(chosen["share"]["id"])]}))


def main():
    line = json.loads(sys.stdin.readline())
    MarketFeed.market_feed_wss = line["stream_url"]
    context = login(line)
    dhan = dhanhq(context)
    account(dhan)
    chosen = pick(line)
    market_data(dhan, chosen)
    orders(dhan, chosen, dhan.quote_data({"NSE_EQ": [int(chosen["share"]["id"])]}))
    margins(dhan, chosen)
    market_stream(context, chosen)
    order_stream(context, dhan, line, chosen)
    dead(line, dhan, chosen)


main()
