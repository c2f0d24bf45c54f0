"""Kite's official SDK drives the zerodha dialect over real HTTP and a real socket, and finds what Kite documents."""

import pytest


@pytest.fixture(scope="module")
def steps(simulator, run_driver):
    return run_driver("zerodha_driver.py", simulator["zerodha"])


def test_the_request_token_becomes_a_session_once(steps, simulator):
    session = steps["session"]
    assert session["broker"] == "ZERODHA"
    assert session["api_key"] == simulator["zerodha"]["credentials"]["api_key"]
    assert len(session["access_token"]) == 32
    assert len(session["login_time"]) == 19
    assert (steps["code used twice"]["type"], steps["code used twice"]["code"]) == ("TokenException", 403)
    assert steps["renewed"]["access_token"] != session["access_token"]


def test_the_account_is_read(steps):
    assert steps["profile"]["user_id"] == steps["session"]["user_id"]
    assert set(steps["margins"]) == {"equity", "commodity"}
    assert _at_rest(steps["margins equity"]) == _at_rest(steps["margins"]["equity"])
    assert steps["margins"]["equity"]["net"] > 0
    assert len(steps["holdings"]) == 8
    assert {"tradingsymbol", "isin", "quantity", "t1_quantity", "collateral_quantity", "mtf"} <= set(
        steps["holdings"][0]
    )
    assert any(row["overnight_quantity"] for row in steps["positions"]["net"])
    assert steps["positions"]["day"]


def _at_rest(purse):
    """Return a purse without the figure that prices move between two calls."""
    return {**purse, "utilised": {**purse["utilised"], "m2m_unrealised": None}}


def test_the_instrument_file_is_parsed(steps):
    assert steps["instruments"] > steps["instruments mcx"] > 0
    chosen = steps["chosen"]
    assert chosen["share"]["instrument_token"] == int(chosen["share"]["exchange_token"]) * 256 + 1
    assert chosen["index"]["instrument_token"] % 256 == 9
    assert chosen["commodity"]["lot_size"] == 1
    assert len(chosen["currency"]["expiry"]) == 10


def test_quotes_and_candles_are_parsed(steps):
    tokens = {each["instrument_token"] for each in steps["chosen"].values()}
    assert {each["instrument_token"] for each in steps["quote"].values()} == tokens
    assert all(each["last_price"] > 0 and each["ohlc"]["close"] > 0 for each in steps["quote"].values())
    assert set(steps["ohlc"]) == set(steps["quote"]) == set(steps["ltp"])
    assert len(steps["days"]) >= 5
    assert all(each["low"] <= each["open"] <= each["high"] and "oi" in each for each in steps["days"])
    assert all(each["date"].endswith("00:00:00+05:30") for each in steps["days"])
    assert steps["minutes"]
    assert (steps["bad interval"]["type"], steps["bad interval"]["code"]) == ("InputException", 400)


def test_an_order_is_placed_modified_and_cancelled(steps):
    order_id = steps["placed"]
    assert steps["modified"] == steps["cancelled"] == order_id
    row = next(row for row in steps["orders"] if row["order_id"] == order_id)
    assert (row["status"], row["quantity"], row["pending_quantity"], row["tag"]) == ("CANCELLED", 3, 0, "sdk1")
    statuses = [row["status"] for row in steps["order history"]]
    assert (statuses[0], statuses[-1]) == ("PUT ORDER REQ RECEIVED", "CANCELLED")
    assert "OPEN" in statuses


def test_refusals_are_the_sdks_own_exceptions(steps):
    assert steps["cancelled twice"]["type"] == "OrderException"
    assert steps["cancelled unknown"]["type"] == "OrderException"
    assert steps["bad order"]["type"] == "InputException"
    assert all(steps[name]["message"] for name in ("cancelled twice", "cancelled unknown", "bad order"))


def test_a_market_order_trades_and_lots_stay_lots(steps):
    filled = next(row for row in steps["orders"] if row["order_id"] == steps["filled"])
    assert (filled["status"], filled["filled_quantity"]) == ("COMPLETE", 1)
    assert [row["average_price"] for row in steps["order trades"]] == [filled["average_price"]]
    assert {row["order_id"] for row in steps["trades"]} >= {steps["filled"], steps["lots"]}
    lots = next(row for row in steps["orders"] if row["order_id"] == steps["lots"])
    assert (lots["exchange"], lots["quantity"], lots["status"]) == ("MCX", 1, "COMPLETE")


def test_what_orders_need_is_told(steps):
    one, two = steps["order margins"]
    assert (one["exchange"], one["type"]) == ("MCX", "commodity")
    assert one["total"] == pytest.approx(one["span"] + one["exposure"]) != 0
    assert two["total"] == pytest.approx(2 * one["total"], rel=0.02)
    assert steps["margin of nothing"]["type"] == "InputException"


def test_the_ticker_sends_full_ticks_and_order_updates(steps):
    assert steps["ticks in time"]
    assert steps["update in time"]
    assert steps["ltp in time"]
    assert steps["quote in time"]
    assert steps["errors"] == []
    quotes = {each["instrument_token"]: each for each in steps["quote"].values()}
    by_token = {tick["instrument_token"]: tick for tick in steps["ticks"]}
    assert set(by_token) == set(quotes)
    for token, tick in by_token.items():
        assert tick["last_price"] == pytest.approx(quotes[token]["last_price"], rel=0.2)
        assert tick["ohlc"]["close"] == pytest.approx(quotes[token]["ohlc"]["close"])
        assert tick["tradable"] is (token % 256 != 9)
    share = by_token[steps["chosen"]["share"]["instrument_token"]]
    assert [len(share["depth"][side]) for side in ("buy", "sell")] == [5, 5]
    assert steps["updates"][-1]["status"] == "COMPLETE"
    assert {"checksum", "unfilled_quantity", "app_id", "guid"} <= set(steps["updates"][-1])


def test_a_dead_token_calls_the_sdks_expiry_hook(steps):
    assert steps["logout"] is True
    assert (steps["after logout"]["type"], steps["after logout"]["code"]) == ("TokenException", 403)
    assert steps["expiry hook called"]
