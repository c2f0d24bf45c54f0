"""Upstox' official SDK drives the upstox dialect over real HTTP and both real sockets, and finds what Upstox documents."""

import pytest

SEGMENTS = {"share": "NSE_EQ", "index": "NSE_INDEX", "currency": "NCD_FO", "commodity": "MCX_FO"}


@pytest.fixture(scope="module")
def steps(simulator, run_driver):
    return run_driver("upstox_driver.py", simulator["upstox"])


def data(step):
    assert step["status"] == "success"
    return step["data"]


def test_the_code_becomes_a_token_once(steps):
    token = steps["token"]
    assert token["broker"] == "UPSTOX"
    assert len(token["access_token"]) == 40
    assert steps["code used twice"] == {"status": 401, "codes": ["UDAPI100057"]}
    assert steps["dead token"] == {"status": 401, "codes": ["UDAPI100050"]}
    assert data(steps["logged out"]) is True
    assert steps["after logout"] == {"status": 401, "codes": ["UDAPI100050"]}


def test_the_account_is_read(steps):
    assert data(steps["profile"])["user_id"] == steps["token"]["user_id"]
    trade = data(steps["funds"])["available_to_trade"]
    cash, pledge = trade["cash_available_to_trade"], trade["pledge_available_to_trade"]
    free_pledge = pledge["margin_from_pledge"]["total"] - pledge["margin_used"]["total"]
    assert trade["total"] > 0
    assert trade["total"] == pytest.approx(cash["total"] + free_pledge)
    assert data(steps["old funds"])["commodity"]["available_margin"] == 0
    holdings = data(steps["holdings"])
    assert len(holdings) == 8
    assert any(row["t1_quantity"] for row in holdings)
    assert any(0 < row["collateral_quantity"] <= row["quantity"] for row in holdings)
    positions = data(steps["positions"])
    assert any(row["overnight_quantity"] < 0 for row in positions)
    assert all(row["quantity"] != 0 or row["average_price"] is None for row in positions)
    assert data(steps["margin trading"]) == []


def test_the_instrument_file_holds_every_segment(steps):
    chosen = steps["chosen"]
    assert {name: row["segment"] for name, row in chosen.items()} == SEGMENTS
    assert chosen["share"]["instrument_key"] == f"NSE_EQ|{chosen['share']['isin']}"
    assert (chosen["currency"]["lot_size"], chosen["currency"]["qty_multiplier"]) == (1, 1000.0)
    assert chosen["commodity"]["lot_size"] == chosen["commodity"]["qty_multiplier"] > 1
    assert chosen["commodity"]["expiry"] % 86_400_000 == (24 - 5.5) * 3_600_000 - 1000


def test_quotes_are_parsed(steps):
    keys = {row["instrument_key"] for row in steps["chosen"].values()}
    for name in ("quotes", "quotes v3", "ohlc", "ltp"):
        rows = data(steps[name])
        assert {row["instrument_token"] for row in rows.values()} == keys
        assert all(row["last_price"] > 0 for row in rows.values())
    quotes = data(steps["quotes"])
    share = next(row for row in quotes.values() if row["instrument_token"].startswith("NSE_EQ|"))
    assert (len(share["depth"]["buy"]), len(share["depth"]["sell"])) == (5, 5)
    assert share["last_trade_time"].isdecimal()
    assert all(key.partition(":")[0] == row["instrument_token"].partition("|")[0] for key, row in quotes.items())
    assert steps["unknown key"] == {"status": 400, "codes": ["UDAPI100011"]}


def test_candles_are_parsed_newest_first(steps):
    for name in ("days", "minutes"):
        candles = data(steps[name])["candles"]
        times = [row[0] for row in candles]
        assert times == sorted(times, reverse=True)
        assert len(times) == len(set(times)) > 0
        assert all(len(row) == 7 and row[3] <= row[1] <= row[2] and times[0].endswith("+05:30") for row in candles)
    assert steps["bad interval"]["status"] == 400


def test_an_order_is_placed_modified_and_cancelled(steps):
    (order_id,) = data(steps["placed"])["order_ids"]
    assert data(steps["modified"])["order_id"] == data(steps["cancelled"])["order_id"] == order_id
    assert "latency" in steps["placed"]["metadata"]
    assert (data(steps["details"])["quantity"], data(steps["details"])["status"]) == (3, "open")
    row = next(row for row in data(steps["orders"]) if row["order_id"] == order_id)
    assert (row["status"], row["quantity"], row["pending_quantity"], row["tag"]) == ("cancelled", 3, 0, "sdk1")
    statuses = [row["status"] for row in data(steps["history"])]
    assert (statuses[0], statuses[-1]) == ("put order req received", "cancelled")
    assert data(steps["history by tag"]) == data(steps["history"])
    assert steps["cancelled twice"]["status"] == 400
    assert steps["unknown instrument"] == {"status": 400, "codes": ["UDAPI100011"]}


def test_a_commodity_is_bought_by_the_contract(steps):
    order_id, key = steps["bought"], steps["chosen"]["commodity"]["instrument_key"]
    trades = data(steps["trades of one"])
    assert [row for row in data(steps["trades"]) if row["order_id"] == order_id] == trades
    assert sum(row["quantity"] for row in trades) == 1
    position = next(row for row in data(steps["positions after"]) if row["instrument_token"] == key)
    assert (position["quantity"], position["multiplier"]) == (1, steps["chosen"]["commodity"]["qty_multiplier"])


def test_what_orders_need_is_told(steps):
    (one,) = data(steps["order margin"])["margins"]
    assert one["total_margin"] == pytest.approx(one["span_margin"] + one["exposure_margin"]) != 0
    together = data(steps["order margins"])
    future, share = together["margins"]
    assert (share["equity_margin"], share["total_margin"], share["span_margin"]) == (200, 200, 0)
    assert future["total_margin"] == pytest.approx(one["total_margin"], rel=0.02)
    assert together["required_margin"] == pytest.approx(future["total_margin"] + 200)
    assert steps["margin of nothing"] == {"status": 400, "codes": ["UDAPI100011"]}
    assert steps["margin of one twice"] == {"status": 400, "codes": ["UDAPI1103"]}


@pytest.mark.parametrize("mode", ["ltpc", "full", "option_greeks"])
def test_the_market_stream_says_state_then_snapshot_then_changes(steps, mode):
    seen = steps[f"market {mode}"]
    assert seen["errors"] == []
    first, second, *rest = seen["messages"]
    assert first["type"] == "market_info"
    assert set(first["marketInfo"]["segmentStatus"]) >= set(SEGMENTS.values())
    # The JSON view leaves out what is zero, and initial_feed is number zero.
    assert second.get("type", "initial_feed") == "initial_feed"
    assert set(second["feeds"]) == {row["instrument_key"] for row in steps["chosen"].values()}
    assert all(message["type"] == "live_feed" for message in rest)
    for key, feed in second["feeds"].items():
        if mode == "full":
            assert ("indexFF" in feed["fullFeed"]) == key.startswith("NSE_INDEX|")
        else:
            assert {"ltpc": "ltpc", "option_greeks": "firstLevelWithGreeks"}[mode] in feed


def test_the_full_stream_carries_depth_and_the_day(steps):
    snapshot = steps["market full"]["messages"][1]
    share = snapshot["feeds"][steps["chosen"]["share"]["instrument_key"]]["fullFeed"]["marketFF"]
    assert len(share["marketLevel"]["bidAskQuote"]) == 5
    assert share["marketOHLC"]["ohlc"][0]["interval"] == "1d"
    assert share["ltpc"]["ltp"] > 0


def test_the_portfolio_stream_carries_orders_and_positions(steps):
    seen = steps["portfolio"]
    assert seen["errors"] == []
    orders = [message for message in seen["messages"] if message["update_type"] == "order"]
    assert orders[0]["status"] == "put order req received"
    assert (orders[-1]["status"], orders[-1]["filled_quantity"], orders[-1]["tag"]) == ("complete", 1, "sdk3")
    position = next(message for message in seen["messages"] if message["update_type"] == "position")
    assert position["instrument_key"] == steps["chosen"]["commodity"]["instrument_key"]
    assert steps["authorized"]["data"]["authorized_redirect_uri"].startswith("ws://127.0.0.1:")
