"""Kotak Neo's official SDK at work: login, account, orders, market data, both streams. Runs in the SDK's environment (style 12).

Reads the simulator's JSON line; writes `{"step", "value"}` lines. Judging is the test's: `test_kotakneo_sdk.py`. Its hosts are
constants: they are pointed at the simulator.
"""

import asyncio
import base64
import hashlib
import hmac
import io
import json
import struct
import sys
import time
import urllib.request

STEPS, sys.stdout = sys.stdout, sys.stderr  # the SDK logs refusals to standard output

import httpx  # noqa: E402
import pandas  # noqa: E402
from neo_api_client import NeoAPI  # noqa: E402
from neo_api_client.utils import neo_utility  # noqa: E402
from neo_api_client.utils.positions_pnl import compute_position_metrics  # noqa: E402
from neo_api_client.websocket.feed import WsToken  # noqa: E402

WAIT_SECONDS = 120


def step(name, value):
    print(json.dumps({"step": name, "value": value}, default=str), flush=True, file=STEPS)


class Paced(httpx.HTTPTransport):
    """Ten calls a second are allowed."""

    pause_seconds = 0.13

    def handle_request(self, request):
        time.sleep(self.pause_seconds)
        return super().handle_request(request)


def one_time_code(secret):
    key = base64.b32decode(secret)
    digest = hmac.digest(key, struct.pack(">Q", int(time.time()) // 30), hashlib.sha1)
    at = digest[-1] & 15
    return f"{(struct.unpack('>I', digest[at : at + 4])[0] & 0x7FFFFFFF) % 1000000:06d}"


def log_in(line):
    """Return a client with a trading session; what is wrong is tried first."""
    neo_utility.SESSION_PROD_BASE_URL = line["login_url"]
    neo_utility.CONFIG_SERVICE_URL_PROD = line["config_url"]
    neo_utility.PROD_BASE_URL = line["rest_url"]
    credentials = line["credentials"]
    api = NeoAPI(consumer_key=credentials["access_token"], environment="prod", transport=Paced(), timeout=WAIT_SECONDS)
    who = {"mobile_number": credentials["mobile_number"], "ucc": credentials["ucc"]}
    step("wrong totp", api.totp_login(**who, totp="000000"))
    step("view", api.totp_login(**who, totp=one_time_code(credentials["totp_secret"])))
    step("wrong mpin", api.totp_validate(mpin="000001"))
    step("trade", api.totp_validate(mpin=credentials["mpin"]))
    configuration = api.configuration
    step("resolved", [configuration.base_url, configuration.sfeed_websocket_url, configuration.order_feed_url])
    return api


def account(api):
    for name in ("limits", "holdings", "positions", "trade_report", "whatsmyip"):
        step(name, getattr(api, name)())
    holdings = {each["exchangeIdentifier"]: each for each in api.holdings()["data"]}
    step(
        "metrics",
        [
            compute_position_metrics(row, holdings.get(row["tok"]), float(row["ltp"]))
            | {"key": f"{row['exSeg']}|{row['tok']}:{row['prod']}"}
            for row in api.positions()["data"]
        ],
    )


def instruments(api):
    """Return a row of each kind, by the SDK's own way to the files."""
    rows = {}
    for segment in ("nse_cm", "nse_fo", "mcx_fo"):
        with urllib.request.urlopen(api.scrip_master(exchange_segment=segment)) as answer:
            frame = pandas.read_csv(io.BytesIO(answer.read()), low_memory=False, dtype={"pSymbol": str})
        rows[segment] = frame.rename(columns=str.strip)
    step("files", api.scrip_master())
    cash = rows["nse_cm"]
    chosen = {
        "share": cash[cash["pGroup"] == "EQ"].iloc[0],
        "index": cash[cash["pISIN"].isna() & cash["pGroup"].isna()].iloc[0],
        "future": rows["nse_fo"][rows["nse_fo"]["pOptionType"] == "XX"].iloc[0],
        "commodity": rows["mcx_fo"][rows["mcx_fo"]["pInstType"] == "FUTCOM"].iloc[0],
    }
    chosen = {name: json.loads(row.to_json()) for name, row in chosen.items()}
    step("chosen", chosen)
    option = rows["nse_fo"][rows["nse_fo"]["pOptionType"] == "CE"].iloc[0]
    strike = float(option["dStrikePrice;"]) / 100
    found = api.search_scrip(
        exchange_segment="nse_fo", symbol=option["pSymbolName"].lower(), option_type="CE", strike_price=f"{strike:g}"
    )
    step("searched", {"wanted": option["pTrdSymbol"], "found": found})
    return chosen


def token(row, name):
    return {
        "exchange_segment": row["pExchSeg"],
        "instrument_token": row["pTrdSymbol" if name == "index" else "pSymbol"],
    }


def market_data(api, chosen):
    tokens = [token(row, name) for name, row in chosen.items()]
    quotes = api.quotes(instrument_tokens=tokens, quote_type="all")
    step("quotes", quotes)
    for kind in ("ltp", "ohlc", "depth", "oi", "52W", "circuit_limits"):
        step(f"quotes {kind}", api.quotes(instrument_tokens=tokens[:1], quote_type=kind))
    step("quotes of nobody", api.quotes(instrument_tokens=[{"exchange_segment": "nse_cm", "instrument_token": "0"}]))
    share = f"nse_cm|{chosen['share']['pSymbol']}"
    now = time.time()
    first, last = (time.strftime("%Y-%m-%d", time.localtime(now - days * 86400)) for days in (20, 0))
    for interval in ("D", "W", "60min", "1min"):
        step(f"candles {interval}", api.historical_data(share, interval, first, last))
    step("bad interval", api.historical_data(share, "7min", first, last))
    step("long span", api.historical_data(share, "1min", "2020-01-01", last))
    return quotes


def place(api, row, **changes):
    fields = {
        "exchange_segment": row["pExchSeg"],
        "product": "CNC" if row["pExchSeg"] == "nse_cm" else "NRML",
        "price": "0",
        "order_type": "L",
        "quantity": "1",
        "validity": "DAY",
        "trading_symbol": row["pTrdSymbol"],
        "transaction_type": "B",
        "tag": "sdk1",
        **changes,
    }
    return api.place_order(**fields)


def trade(api, chosen, quotes):
    share = chosen["share"]
    low = f"{float(quotes[0]['low_price_range']) + 0.5:.2f}"
    placed = place(api, share, price=low, quantity="2")
    step("placed", placed)
    order_id = placed["nOrdNo"]
    step("modified", api.modify_order(order_id=order_id, price=low, order_type="L", quantity="3", validity="DAY"))
    step("one order", api.order_report(order_id=order_id))
    step("cancelled", api.cancel_order(order_id=order_id))
    step("cancelled twice", api.cancel_order(order_id=order_id))
    step("history", api.order_history(order_id=order_id))
    commodity = chosen["commodity"]
    bought = place(api, commodity, order_type="MKT", quantity=str(int(commodity["lLotSize"])), tag="sdk2")
    step("bought", bought)
    step("after market", place(api, share, price=low, amo="YES", tag="sdk4"))
    step("orders", api.order_report())
    step("trades", api.trade_report())
    step("positions after", api.positions())
    step("unknown symbol", place(api, {**share, "pTrdSymbol": "NOBODY-EQ"}, price="1"))
    step("stop at market", place(api, share, order_type="SL-M", trigger_price="100"))


def margins(api, chosen, quotes):
    """What a share bought and a commodity future sold would need; and a token of nobody."""
    share, commodity = chosen["share"], chosen["commodity"]
    low = f"{float(quotes[0]['low_price_range']) + 0.5:.2f}"
    order = {
        "exchange_segment": "nse_cm", "price": low, "order_type": "L", "product": "CNC", "quantity": "2",
        "instrument_token": share["pSymbol"], "transaction_type": "B",
    }  # fmt: skip
    step("margin", {"price": float(low), **api.margin_required(**order)})
    future = {
        **order, "exchange_segment": "mcx_fo", "price": "0", "order_type": "MKT", "product": "NRML", "transaction_type": "S",
        "instrument_token": commodity["pSymbol"], "quantity": str(int(commodity["lLotSize"])),
    }  # fmt: skip
    step("margin of a future", api.margin_required(**future))
    step("margin of nobody", api.margin_required(**{**order, "instrument_token": "999999999"}))


async def market_stream(api, chosen):
    """Subscribe at every level, listen until each kind of message has come, leave again."""
    raw, seen = [], {}
    socket = api.create_websocket()
    socket.on_raw = raw.append
    others = [WsToken(row["pExchSeg"], row["pSymbol"]) for name, row in chosen.items() if name != "index"]
    async with socket:
        step("dividers", {str(number): value for number, value in socket.dividers.items()})
        await socket.subscribe_index([WsToken("nse_cm", chosen["index"]["pTrdSymbol"])])
        await socket.subscribe_scrips_lite(others)
        await socket.subscribe_scrips(others)
        await socket.subscribe_depth(others)
        await socket.subscribe_exchange()
        step("acknowledged", socket.trading_symbols)
        end = time.monotonic() + WAIT_SECONDS
        while len(seen) < 11 and time.monotonic() < end:
            message = await asyncio.wait_for(socket.__anext__(), WAIT_SECONDS)
            kind = f"{message.type} {getattr(message, 'level', '')}{getattr(message, 'instrument_token', '')}"
            seen[kind] = message.model_dump()
        await socket.unsubscribe_depth(others)
    step("market", list(seen.values()))
    step("market frames", [base64.b64encode(frame).decode() for frame in raw if isinstance(frame, bytes)])


async def order_stream(api, chosen):
    raw, kinds = [], []
    feed = api.create_order_feed()
    feed.on_raw = raw.append
    async with feed:
        end = time.monotonic() + WAIT_SECONDS
        while not raw and time.monotonic() < end:  # the answer to its first message
            await asyncio.sleep(0.05)
        commodity = chosen["commodity"]
        fields = {"order_type": "MKT", "quantity": str(int(commodity["lLotSize"])), "tag": "sdk3"}
        placed = await asyncio.to_thread(place, api, commodity, **fields)
        step("placed beside the stream", placed)
        end = time.monotonic() + WAIT_SECONDS
        while "position" not in kinds and time.monotonic() < end:
            message = await asyncio.wait_for(feed.__anext__(), WAIT_SECONDS)
            kinds.append(getattr(message, "type", "?"))
    step("order stream", [json.loads(each) for each in raw])
    step("order stream kinds", kinds)


def burst(api):
    """Return the codes of more calls than one second may have; a burst that took longer than its second is begun anew."""
    for _ in range(20):
        Paced.pause_seconds = 0
        codes = [api.limits().get("stCode") for _ in range(15)]
        Paced.pause_seconds = 1.2
        api.limits()  # the second of the burst is over
        if 429 in codes:
            break
    return codes


def main():
    line = json.loads(sys.stdin.readline())
    api = log_in(line)
    account(api)
    chosen = instruments(api)
    quotes = market_data(api, chosen)
    trade(api, chosen, quotes)
    margins(api, chosen, quotes)
    asyncio.run(market_stream(api, chosen))
    asyncio.run(order_stream(api, chosen))
    step("burst", burst(api))
    minted = line["session"]
    api.configuration.edit_token, api.configuration.edit_sid = minted["token"], minted["sid"]
    step("minted session", api.limits())
    api.configuration.edit_token = "dead"
    step("dead session", api.order_report())


main()
