"""Kotak Neo's official SDK drives the kotakneo dialect over real HTTP and both real sockets, and finds what its documentation
promises; our codec reads the same answers and frames."""

import base64

import msgspec
import pytest

from onebroker.brokers.broker import Access, Login
from onebroker.brokers.events import BooksMoved, Heartbeat, Ready, Ticks
from onebroker.brokers.kotakneo import books, feed, order_feed, portfolio
from onebroker.brokers.kotakneo.wire import ENDPOINTS
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import StreamAddress, WireResponse

ACCESS = Access(endpoints=ENDPOINTS, credentials={}, login=Login(tokens={}, user_id="", logged_in_at=0, expires_at=0))


@pytest.fixture(scope="module")
def line(simulator):
    return simulator["kotakneo"]


@pytest.fixture(scope="module")
def steps(line, run_driver):
    return run_driver("kotakneo_driver.py", line)


def rows(step):
    assert step["stCode"] == 200
    assert step["stat"].lower() == "ok"
    return step["data"]


def answer(step):
    return WireResponse(status=200, body=msgspec.json.encode(step))


def test_the_login_takes_two_steps_and_says_where_everything_is(steps, line):
    assert steps["wrong totp"]["errorCode"] == steps["wrong mpin"]["errorCode"] == "401"
    view, trade = steps["view"]["data"], steps["trade"]["data"]
    assert (view["kType"], trade["kType"]) == ("View", "Trade")
    assert view["token"] != trade["token"]
    assert trade["ucc"] == line["credentials"]["ucc"]
    base = line["rest_url"]
    assert steps["resolved"] == [base, f"{base}/apifeed", f"{base}/realtime"]
    assert steps["minted session"]["stCode"] == 200
    assert steps["dead session"]["stCode"] == 100022


def test_too_many_calls_are_answered_with_429_and_no_more(steps):
    assert set(steps["burst"]) == {200, 429}
    assert steps["burst"][0] == 200


def test_the_account_is_read(steps):
    limits = steps["limits"]
    assert limits["stat"] == "Ok"
    assert float(limits["Net"]) > 0
    assert len(steps["holdings"]["data"]) == 8
    assert all(row["instrumentToken"] != int(row["exchangeIdentifier"]) for row in steps["holdings"]["data"])
    assert "stCode" not in steps["holdings"]
    assert rows(steps["trade_report"])
    assert steps["whatsmyip"]["status"] == "success"


def test_the_sdk_and_we_compute_the_same_of_every_position(steps):
    positions = portfolio.parse_positions([answer(steps["positions"]), answer(steps["holdings"])], {})
    net = {row.position_key: row for row in positions if row.view == "net"}
    assert len(net) == len(steps["metrics"]) > 2
    for metric in steps["metrics"]:
        row = net[metric["key"]]
        assert metric["pnlCalculationError"] is None
        assert row.quantity == metric["netQty"]
        assert (row.average_price or 0.0) == pytest.approx(metric["averagePrice"], abs=0.011)
        assert row.realized + row.unrealized == pytest.approx(metric["positionPnl"], rel=0.01, abs=50)


def test_the_scrip_files_are_found_and_searched(steps):
    assert len(steps["files"]["filesPaths"]) == 7
    assert {name: row["pExchSeg"] for name, row in steps["chosen"].items()} == {
        "share": "nse_cm", "index": "nse_cm", "future": "nse_fo", "commodity": "mcx_fo",
    }  # fmt: skip
    searched = steps["searched"]
    assert searched["wanted"] in {row["pTrdSymbol"] for row in searched["found"]}


def test_quotes_are_parsed(steps):
    share, index, future, commodity = steps["quotes"]
    assert [row["exchange"] for row in steps["quotes"]] == ["nse_cm", "nse_cm", "nse_fo", "mcx_fo"]
    assert all(isinstance(row["ltp"], str) and float(row["ltp"]) > 0 for row in steps["quotes"])
    assert (len(share["depth"]["buy"]), len(share["depth"]["sell"])) == (5, 5)
    assert (share["open_int"], int(future["open_int"]) > 0, int(commodity["open_int"]) > 0) == ("0", True, True)
    assert {level["quantity"] for level in index["depth"]["buy"]} == {"0"}
    assert set(steps["quotes ohlc"][0]) == {"exchange_token", "display_symbol", "exchange", "lstup_time", "ohlc"}
    assert steps["quotes of nobody"]["fault"]["code"] == 400


def test_candles_are_parsed_oldest_first(steps):
    for interval in ("D", "W", "60min", "1min"):
        candles = steps[f"candles {interval}"]["data"]["candles"]
        times = [row[0] for row in candles]
        assert times == sorted(set(times))
        assert all(len(row) == 7 and row[3] <= row[1] <= row[2] and row[0].endswith("+0530") for row in candles)
    assert steps["bad interval"]["fault"]["message"] == "Invalid interval value"
    assert steps["long span"]["status"] == "ERROR"


def test_an_order_is_placed_modified_and_cancelled(steps):
    order_id = steps["placed"]["nOrdNo"]
    assert steps["modified"]["nOrdNo"] == steps["cancelled"]["nOrdNo"] == order_id
    (one,) = rows(steps["one order"])
    assert (one["qty"], one["ordSt"], one["GuiOrdId"]) == (3, "open", "sdk1")
    book = {row["nOrdNo"]: row for row in rows(steps["orders"])}
    assert (book[order_id]["ordSt"], book[order_id]["cnlQty"]) == ("cancelled", 3)
    assert book[order_id]["updRecvTm"] > 2**53
    assert steps["cancelled twice"]["stCode"] == 1021
    states = [row["ordSt"] for row in rows(steps["history"]["data"])]
    assert (states[0], states[-1]) == ("cancelled", "put order req received")
    assert book[steps["after market"]["nOrdNo"]]["ordGenTp"] == "AMO"
    assert steps["unknown symbol"]["stCode"] == 1007
    assert "not allowed" in steps["stop at market"]["errMsg"]


def test_what_orders_need_is_told(steps):
    share = steps["margin"]["data"]
    assert share["rmsVldtd"] == "OK"
    assert float(share["ordMrgn"]) == pytest.approx(2 * steps["margin"]["price"])
    future = steps["margin of a future"]["data"]
    assert float(future["totMrgnUsd"]) == pytest.approx(float(future["mrgnUsd"]) + float(future["ordMrgn"]))
    assert float(future["ordMrgn"]) > 0
    assert steps["margin of nobody"]["data"]["stCode"] == 1007


def test_what_the_sdk_did_is_what_we_read(steps):
    order_id = steps["bought"]["nOrdNo"]
    commodity = steps["chosen"]["commodity"]
    token = f"mcx_fo|{commodity['pSymbol']}"
    listings = {token: Listing(broker_token=token, tradingsymbol=commodity["pTrdSymbol"], exchange="mcx_fo")}
    orders = {row.order_id: row for row in books.parse_orders([answer(steps["orders"])], listings)}
    row = orders[order_id]
    assert (row.status, row.quantity, row.tag) == ("COMPLETE", commodity["lLotSize"], "sdk2")
    trades = books.parse_trades([answer(steps["trades"]), answer(steps["orders"])], listings)
    mine = [trade for trade in trades if trade.order_id == order_id]
    assert sum(trade.quantity for trade in mine) == commodity["lLotSize"]
    assert {trade.instrument_token for trade in mine} == {token}
    positions = portfolio.parse_positions([answer(steps["positions after"])], listings)
    net = next(row for row in positions if row.view == "net" and row.instrument_token == token)
    assert net.quantity == commodity["lLotSize"]


def test_the_market_stream_carries_every_level(steps):
    assert steps["dividers"]["3"] == 10_000_000
    messages = steps["market"]
    levels = {message.get("level") for message in messages if message["type"] == "scrip"}
    assert levels == {4, 8}
    assert {message["type"] for message in messages} >= {"index", "scrip", "scrip_lite", "market_status"}
    chosen = steps["chosen"]
    assert steps["acknowledged"][f"nse_cm|{chosen['index']['pTrdSymbol']}"] == chosen["index"]["pTrdSymbol"]
    deep = next(m for m in messages if m.get("level") == 8 and m["exchange_segment"] == "nse_cm")
    assert (len(deep["buy"]), len(deep["sell"])) == (5, 5)
    assert deep["instrument_token"] == chosen["share"]["pSymbol"]


def test_our_decoder_reads_the_frames_the_sdk_was_sent(steps):
    decoder = feed.decoder(ACCESS, StreamAddress(url="ws://feed"), {})
    prices = {}
    for frame in steps["market frames"]:
        for event in decoder.receive(base64.b64decode(frame)):
            assert isinstance(event, Ticks)
            prices |= {tick.broker_token: tick for tick in event.ticks}
    for message in steps["market"]:
        if message["type"] != "market_status":
            assert f"{message['exchange_segment']}|{message['instrument_token']}" in prices


def test_the_order_stream_carries_orders_and_positions(steps):
    placed = steps["placed beside the stream"]["nOrdNo"]
    messages = steps["order stream"]
    assert messages[0] == {"ak": "ok", "type": "cn", "task": "cn", "msg": "connected"}
    mine = [message["data"] for message in messages[1:] if message["data"].get("nOrdNo") == placed]
    assert (mine[0]["ordSt"], mine[-1]["ordSt"]) == ("put order req received", "complete")
    assert "position" in steps["order stream kinds"]
    decoder = order_feed.decoder(ACCESS, StreamAddress(url="ws://orders"), {})
    events = [event for message in messages for event in decoder.receive(msgspec.json.encode(message).decode())]
    assert isinstance(events[0], Ready)
    assert all(isinstance(event, BooksMoved | Heartbeat) for event in events[1:])
