"""Shoonya's official client at work: login, account, orders, market data, the one socket. Runs in the SDK's environment.

Reads the simulator's JSON line; writes `{"step", "value"}` lines. Judging is the test's: `test_shoonya_sdk.py`. The client prints
the addresses it calls, so the lines go to the real standard output and what it prints to standard error.
"""

import datetime
import io
import json
import sys
import threading
import time
import urllib.error
import urllib.request
import zipfile

from NorenRestApiPy.NorenApi import FeedType, NorenApi

WAIT_SECONDS, TRIES = 120, 12
IST = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
FILES = ("NSE", "BSE", "NFO", "BFO", "CDS", "MCX", "NCX")

OUT = sys.stdout
sys.stdout = sys.stderr


def step(name, value):
    print(json.dumps({"step": name, "value": value}), file=OUT, flush=True)


class Keep(urllib.request.HTTPRedirectHandler):
    """The page's redirect leads away from this machine: its address is all that is wanted."""

    def redirect_request(self, *arguments):
        return None


def page_code(line, api):
    """Open the login page as a person's browser would and return the code it comes back with."""
    url = api.getOAuthURL(line["login_url"], line["credentials"]["client_id"])
    try:
        urllib.request.build_opener(Keep).open(url)
    except urllib.error.HTTPError as answer:
        return answer.headers["Location"].partition("code=")[2]
    raise AssertionError("the page did not redirect")


def login(line):
    credentials = line["credentials"]
    api = NorenApi(host=line["rest_url"], websocket=line["stream_url"])
    arguments = (credentials["secret_code"], credentials["client_id"], credentials["user_id"])
    code = page_code(line, api)
    step("token", api.getAccessToken(code, *arguments))
    step("code used twice", api.getAccessToken(code, *arguments))
    step("wrong secret", api.getAccessToken(line["session"]["code"], "wrong", *arguments[1:]))
    step("handed code", api.getAccessToken(line["session"]["code"], *arguments))
    return api


def instruments(line):
    """Return the first rows of the files that are traded below."""
    chosen, headers = {}, {}
    for file in FILES:
        with urllib.request.urlopen(f"{line['instruments_url']}/{file}_symbols.txt.zip") as answer:
            packed = zipfile.ZipFile(io.BytesIO(answer.read()))
        lines = packed.read(packed.namelist()[0]).decode().splitlines()
        header = lines[0].split(",")
        headers[file] = header
        for text in lines[1:]:
            row = dict(zip(header, text.split(","), strict=True))
            if row["Symbol"] and not row["Symbol"].startswith("DUMMY"):
                chosen.setdefault((file, row["Instrument"][:3]), row)
    step("headers", headers)
    return {
        "share": chosen["NSE", "EQ"],
        "index": chosen["NSE", "IND"],
        "currency": chosen["CDS", "FUT"],
        "commodity": chosen["MCX", "FUT"],
    }


def account(api):
    step("limits", api.get_limits())
    step("holdings", api.get_holdings())
    step("no holdings", api.get_holdings("M"))
    step("positions", api.get_positions())


def market_data(api, chosen):
    step("quotes", {name: api.get_quotes(row["Exchange"], row["Token"]) for name, row in chosen.items()})
    step("unknown quote", api.get_quotes("NSE", "999999"))
    share = chosen["share"]
    now = time.time()
    step("minutes", api.get_time_price_series("NSE", share["Token"], now - 3 * 86400, now, 15))
    step("today", api.get_time_price_series("NSE", share["Token"]))
    step("days", api.get_daily_price_series("NSE", share["TradingSymbol"], now - 30 * 86400, now))
    index = chosen["index"]
    step("index days", api.get_daily_price_series("NSE", index["TradingSymbol"], now - 30 * 86400, now))
    step("bad interval", api.get_time_price_series("NSE", share["Token"], now - 86400, now, 7))
    step("search", api.searchscrip("NSE", share["TradingSymbol"]))
    step("security", api.get_security_info("NSE", share["Token"]))


def place(api, row, **changes):
    fields = {
        "buy_or_sell": "B",
        "product_type": "C" if row["Exchange"] == "NSE" else "M",
        "exchange": row["Exchange"],
        "tradingsymbol": row["TradingSymbol"],
        "quantity": row["LotSize"],
        "discloseqty": 0,
        "price_type": "LMT",
        "retention": "DAY",
        "remarks": "sdk1",
        **changes,
    }
    return api.place_order(**fields)


def limits_of(api, row):
    quote = api.get_quotes(row["Exchange"], row["Token"])
    return quote["lc"], quote["uc"]


def trade(api, chosen):
    share, commodity = chosen["share"], chosen["commodity"]
    low, high = limits_of(api, share)
    placed = place(api, share, price=low, quantity=2)
    step("placed", placed)
    order_id = placed["norenordno"]
    step("modified", api.modify_order(order_id, "NSE", share["TradingSymbol"], 3, "LMT", low))
    step("cancelled", api.cancel_order(order_id))
    step("cancelled twice", api.cancel_order(order_id))
    step("history", api.single_order_history(order_id))
    stop = place(api, share, price_type="SL-LMT", price=high, trigger_price=high, remarks="stop")
    step("stop", api.single_order_history(stop["norenordno"])[0])
    step("stop modified", api.modify_order(stop["norenordno"], "NSE", share["TradingSymbol"], 2, "SL-LMT", high, high))
    step("stop cancelled", api.cancel_order(stop["norenordno"]))
    time.sleep(1.1)  # ten order messages a second are taken
    step("after market", place(api, share, price=low, amo="Yes", remarks="amo"))
    step("untagged", place(api, share, price=low, remarks=None))
    bought = place(api, commodity, price=limits_of(api, commodity)[1], remarks="sdk2")
    step("bought", bought)
    step("market order", place(api, share, price_type="MKT", price=0.0))
    step("unknown symbol", place(api, {**share, "TradingSymbol": "M&M-EQ"}, price=1))
    step("orders", api.get_order_book())
    step("trades", api.get_trade_book())
    step("positions after", api.get_positions())
    step("limits after", api.get_limits())


def streams(line, api, chosen):
    """Listen to depth, touchline and orders until each was heard of."""
    frames, orders, opened, closed = [], [], threading.Event(), threading.Event()
    api.start_websocket(
        subscribe_callback=frames.append,
        order_update_callback=orders.append,
        socket_open_callback=opened.set,
        socket_close_callback=closed.set,
        socket_error_callback=lambda error: frames.append({"t": "error", "error": str(error)}),
    )
    assert opened.wait(WAIT_SECONDS)
    scrips = [f"{row['Exchange']}|{row['Token']}" for row in chosen.values()]
    api.subscribe(scrips, FeedType.SNAPQUOTE)
    api.subscribe(scrips[0], FeedType.TOUCHLINE)
    api.subscribe_orders()
    wanted = {"tk", "dk", "tf", "df"}
    until(lambda: wanted <= {frame["t"] for frame in frames})
    time.sleep(1.1)  # as above
    for _ in range(TRIES):
        # The SDK keeps the acknowledgement to itself: orders until all of one is heard of.
        placed = place(api, chosen["commodity"], price=limits_of(api, chosen["commodity"])[1], remarks="sdk3")
        if until(lambda order_id=placed["norenordno"]: is_told(orders, order_id), WAIT_SECONDS / TRIES):
            break
    api.unsubscribe(scrips, FeedType.SNAPQUOTE)
    api.close_websocket()
    step("frames", frames)
    step("order updates", [order for order in orders if order["norenordno"] == placed["norenordno"]])


def refused_stream(line):
    errors = []
    api = NorenApi(host=line["rest_url"], websocket=line["stream_url"])
    api.set_credentials("dead", line["session"]["USERID"], line["session"]["actid"])
    api.start_websocket(socket_open_callback=lambda: errors.append("open"), socket_error_callback=errors.append)
    until(lambda: errors)
    api.close_websocket()
    step("refused stream", errors[:1])


def is_told(orders, order_id):
    return {"PENDING", "COMPLETE"} <= {order["status"] for order in orders if order["norenordno"] == order_id}


def until(condition, seconds=WAIT_SECONDS):
    deadline = time.monotonic() + seconds
    while not (done := condition()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return done


def main():
    line = json.loads(sys.stdin.readline())
    api = login(line)
    chosen = instruments(line)
    step("chosen", chosen)
    account(api)
    market_data(api, chosen)
    trade(api, chosen)
    streams(line, api, chosen)
    refused_stream(line)
    injected = NorenApi(host=line["rest_url"], websocket=line["stream_url"])
    injected.injectOAuthHeader(line["session"]["access_token"], line["session"]["USERID"], line["session"]["actid"])
    step("handed token", injected.get_limits())
    injected.injectOAuthHeader("dead", line["session"]["USERID"], line["session"]["actid"])
    step("dead token", injected.get_limits())
    step("dead token book", injected.get_order_book())
    step("logged out", api.logout())


main()
