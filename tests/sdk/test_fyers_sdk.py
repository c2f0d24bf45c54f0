"""Fyers' official SDK accepts the simulated Fyers: every call the service's jobs need, judged by the documentation.

The refresh of a token and its PIN are not in the SDK; `tests/brokers/simulator/dialects/fyers/test_login.py` drives them.
"""

import base64
import json
import urllib.request

import pytest


@pytest.fixture(scope="module")
def line(simulator):
    return simulator["fyers"]


@pytest.fixture(scope="module")
def steps(line, run_driver):
    return run_driver("fyers_driver.py", line, environment="fyers")


def ok(answer, code=200):
    assert (answer["s"], answer["code"]) == ("ok", code), answer
    return answer


def claims(token):
    payload = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))


def test_a_login_goes_through_the_page_and_its_code_works_once(steps):
    assert (steps["redirect"]["status"], steps["redirect"]["s"], steps["redirect"]["state"]) == (302, "ok", "x")
    tokens = ok(steps["tokens"])
    said = claims(tokens["access_token"])
    assert (said["sub"], said["appType"]) == ("access_token", 100)
    assert said["hsm_key"]
    assert tokens["refresh_token"]
    assert steps["code used twice"]["code"] == -437
    assert steps["wrong secret"]["code"] == -352


def test_the_account_is_parsed(steps, line):
    assert ok(steps["profile"])["data"]["fy_id"] == claims(line["session"]["access_token"])["fy_id"]
    lines = {row["id"]: row for row in ok(steps["funds"])["fund_limit"]}
    assert sorted(lines) == list(range(1, 11))
    assert lines[10]["title"] == "Available Balance"
    assert lines[10]["equityAmount"] > 0
    held = ok(steps["holdings"])["holdings"]
    assert {row["holdingType"] for row in held} == {"HLD", "T1"}
    assert all(isinstance(row["fyToken"], int) for row in held)
    positions = ok(steps["positions"])["netPositions"]
    assert any(row["cfSellQty"] > 0 and row["side"] == -1 for row in positions)
    assert all(row["qty"] == abs(row["netQty"]) for row in positions)


def test_the_masters_hold_every_segment(steps):
    chosen = steps["chosen"]
    places = {name: (row["exchange"], row["segment"]) for name, row in chosen.items()}
    assert places == {"share": (10, 10), "index": (10, 10), "currency": (10, 12), "commodity": (11, 20)}
    assert chosen["currency"]["qtyMultiplier"] == 1000
    assert chosen["currency"]["minLotSize"] == chosen["commodity"]["minLotSize"] == 1
    assert chosen["commodity"]["qtyMultiplier"] > 1
    assert chosen["index"]["minLotSize"] == 0


def test_quotes_are_parsed_and_a_bad_symbol_is_refused_inside(steps):
    rows = {row["n"]: row for row in ok(steps["quotes"])["d"]}
    assert rows["NSE:NOBODY-EQ"]["s"] == "error"
    for row in steps["chosen"].values():
        quote = rows[row["symTicker"]]["v"]
        assert (quote["symbol"], quote["fyToken"]) == (row["symTicker"], row["fyToken"])
        assert quote["lp"] > 0
    share = ok(steps["depth"])["d"][steps["chosen"]["share"]["symTicker"]]
    assert (len(share["bids"]), len(share["ask"])) == (5, 5)
    assert share["bids"][0]["price"] < share["ask"][0]["price"]
    assert ok(steps["status"])["marketStatus"]


def test_candles_are_epochs_and_a_days_is_midnight_utc(steps):
    for name in ("days", "minutes"):
        candles = ok(steps[name])["candles"]
        times = [row[0] for row in candles]
        assert times == sorted(set(times))
        assert all(len(row) == 7 and row[3] <= row[1] <= row[2] for row in candles)
    assert all(row[0] % 86_400 == 0 for row in steps["days"]["candles"])
    assert (steps["bad resolution"]["s"], steps["bad resolution"]["code"]) == ("error", -50)


def test_an_order_is_placed_modified_and_cancelled(steps):
    order_id = ok(steps["placed"], 1101)["id"]
    assert ok(steps["modified"], 1102)["id"] == ok(steps["cancelled"], 1103)["id"] == order_id
    (row,) = ok(steps["book of one"])["orderBook"]
    assert (row["id"], row["qty"], row["status"], row["orderTag"]) == (order_id, 3, 6, "1:sdk1")
    row = next(row for row in ok(steps["orders"])["orderBook"] if row["id"] == order_id)
    assert (row["status"], row["qty"], row["remainingQuantity"], row["filledQty"]) == (1, 3, 0, 0)
    assert steps["cancelled twice"]["code"] == -51
    assert steps["unknown instrument"]["code"] == -300
    assert steps["bad order"]["code"] == -50


def test_a_commodity_is_bought_by_the_lot(steps):
    ticker = steps["chosen"]["commodity"]["symTicker"]
    trades = [row for row in ok(steps["trades"])["tradeBook"] if row["orderNumber"] == steps["bought"]]
    assert sum(row["tradedQty"] for row in trades) == 1
    position = next(row for row in ok(steps["positions after"])["netPositions"] if row["symbol"] == ticker)
    assert (position["netQty"], position["qtyMulti_com"]) == (1, steps["chosen"]["commodity"]["qtyMultiplier"])


def test_what_the_sdk_traded_is_what_the_exchange_knows(steps, line):
    with urllib.request.urlopen(f"{line['control_url']}/ledger") as answer:
        ledger = json.load(answer)
    orders = {order["order_id"]: order for order in ledger["orders"] if order["broker"] == "fyers"}
    assert (orders[steps["placed"]["id"]]["status"], orders[steps["placed"]["id"]]["quantity"]) == ("cancelled", 3)
    bought = orders[steps["bought"]]
    assert bought["filled_quantity"] == bought["quantity"] == steps["chosen"]["commodity"]["qtyMultiplier"]


def test_the_data_socket_says_key_and_mode_then_topics(steps):
    seen = steps["stream trades"]
    assert seen["errors"] == []
    assert [(each["type"], each["message"]) for each in seen["messages"][:3]] == [
        ("cn", "Authentication done"), ("ful", "Full Mode On"), ("sub", "Subscribed"),
    ]  # fmt: skip
    feeds = {each["symbol"]: each for each in reversed(seen["messages"][3:])}
    assert set(feeds) == {row["symTicker"] for row in steps["chosen"].values()}
    for name, row in steps["chosen"].items():
        told = feeds[row["symTicker"]]
        assert told["type"] == ("if" if name == "index" else "sf")
        assert told["low_price"] <= told["ltp"] <= told["high_price"]
        assert told["prev_close_price"] > 0
    share = feeds[steps["chosen"]["share"]["symTicker"]]
    assert share["bid_price"] < share["ask_price"]
    assert share["vol_traded_today"] > 0


def test_the_lite_mode_carries_last_prices_only(steps):
    seen = steps["stream lite"]
    assert seen["errors"] == []
    assert seen["messages"][1]["message"] == "Lite Mode On"
    assert all(set(each) == {"ltp", "symbol", "type"} for each in seen["messages"][3:])


def test_the_depth_topics_carry_five_levels(steps):
    seen = steps["stream depth"]
    assert seen["errors"] == []
    told = next(each for each in seen["messages"][3:] if each["symbol"] == steps["chosen"]["share"]["symTicker"])
    assert told["type"] == "dp"
    assert told["bid_price5"] < told["bid_price1"] < told["ask_price1"] < told["ask_price5"]
    assert all(told[f"{side}_size{level}"] > 0 for side in ("bid", "ask") for level in range(1, 6))


def test_the_order_socket_carries_orders_trades_and_positions(steps):
    seen = steps["order stream"]
    assert seen["errors"] == []
    assert seen["general"][0]["code"] == 1605
    orders = [each["orders"] for each in seen["messages"] if "orders" in each]
    assert (orders[-1]["status"], orders[-1]["filledQty"], orders[-1]["orderTag"]) == (2, 1, "1:sdk3")
    trade = next(each["trades"] for each in seen["messages"] if "trades" in each)
    assert (trade["tradedQty"], trade["orderNumber"]) == (1, orders[-1]["id"])
    position = next(each["positions"] for each in seen["messages"] if "positions" in each)
    assert position["symbol"] == steps["chosen"]["commodity"]["symTicker"]
    assert position["netQty"] >= 1


def test_a_dead_token_is_refused_in_each_doors_own_words(steps):
    assert steps["dead token"] == {"code": -16, "message": "Could not authenticate the user", "s": "error"}
    assert steps["dead data token"] == {"code": -15, "message": "Please provide valid token", "s": "error"}
    assert any("403" in error for error in steps["dead order stream"])
    ok(steps["logged out"])
    assert steps["after logout"]["code"] == -16
