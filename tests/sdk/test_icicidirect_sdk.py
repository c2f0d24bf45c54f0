"""ICICI Direct's official SDK drives the icicidirect dialect over real HTTP and its three streams, and finds what the
broker's page says."""

import pytest

ORDER_FIELDS = 33


@pytest.fixture(scope="module")
def steps(simulator, run_driver):
    return run_driver("icicidirect_driver.py", simulator["icicidirect"])


def content(step):
    assert (step["Status"], step["Error"]) == (200, None), step
    return step["Success"]


def test_the_redirects_session_becomes_a_login(steps):
    assert steps["user"] == content(steps["profile"])["idirect_userid"] == "ASHAV123"
    assert content(steps["profile"])["segments_allowed"]["Trading"] == "Y"


def test_dead_sessions_are_told_in_the_words_the_sdk_knows(steps):
    assert "Session key is expired" in steps["expired session"]
    assert "check session key" in steps["wrong session"]
    assert "check api key" in steps["wrong key"]
    assert steps["dead token"] == {"Success": None, "Status": 500, "Error": "Resource not available."}
    assert steps["refused stream"] == [{"message": "Could not authenticate credentials"}]


def test_the_account_is_read(steps):
    funds = content(steps["funds"])
    assert funds["allocated_equity"] - funds["block_by_trade_equity"] > 0
    assert isinstance(funds["unallocated_balance"], str)
    assert content(steps["margin"])["limit_list"] == []
    demat, held = content(steps["demat"]), content(steps["holdings"])
    assert len(demat) == len(held) == 8
    assert all(row["stock_ISIN"].startswith("INE") for row in demat)
    assert {row["stock_code"] for row in demat} == {row["stock_code"] for row in held}
    assert any(int(row["quantity"]) > int(row["demat_allocated_quantity"]) for row in demat)
    positions = content(steps["positions"])
    assert {row["action"] for row in positions} >= {"Buy", "Sell"}
    assert all(not row["quantity"].startswith("-") for row in positions)


def test_the_sdk_reads_the_security_master_of_every_market(steps):
    bse, nse, _, mcx, nfo, bfo = steps["names"]["sizes"]
    assert min(bse, nse, mcx, nfo, bfo) > 0


def test_quotes_are_parsed(steps):
    row = content(steps["quote"])[0]
    assert row["exchange_code"] == "NSE"
    assert row["stock_code"] == steps["names"]["share"]
    assert row["ltp"] > 0
    assert row["best_bid_quantity"].isdecimal()
    (option,) = content(steps["quote of option"])
    assert (option["right"].lower(), option["exchange_code"]) == (steps["names"]["option"]["right"], "NFO")
    assert [row["exchange_code"] for row in content(steps["quote of both"])] == ["NSE", "BSE"]
    assert content(steps["unknown quote"]) == []


def test_candles_of_both_versions_are_parsed(steps):
    new, old = content(steps["candles"]), content(steps["old candles"])
    assert [row["datetime"] for row in new] == [row["datetime"] for row in old]
    assert all(isinstance(row["close"], float) for row in new)
    assert all(isinstance(row["close"], str) for row in old)
    assert "open_interest" not in new[0]
    (option,) = content(steps["option candles"])
    assert option["product_type"] == "Options"
    assert option["open_interest"] > 0


def test_an_order_is_placed_modified_and_cancelled(steps):
    order_id = content(steps["placed"])["order_id"]
    assert "RI reference no" in content(steps["placed"])["message"]
    assert content(steps["modified"])["order_id"] == content(steps["cancelled"])["order_id"] == order_id
    (detail,) = content(steps["detail"])
    assert len(detail) == ORDER_FIELDS
    assert (detail["quantity"], detail["status"], detail["user_remark"]) == ("3", "Ordered", "sdk1")
    rows = {row["order_id"]: row for row in content(steps["orders"])}
    assert rows[order_id]["status"] == "Cancelled"
    assert (rows[order_id]["cancelled_quantity"], rows[order_id]["pending_quantity"]) == ("3", "0")
    assert steps["cancelled twice"]["Status"] == 500
    assert "already been executed" in steps["modified too late"]["Error"]
    assert steps["empty orders"] == {"Success": None, "Status": 200, "Error": "No Data Found"}


def test_a_market_order_of_the_sdk_arrives_as_a_limit_order_and_fills(steps):
    order_id = content(steps["bought"])["order_id"]
    row = next(row for row in content(steps["orders"]) if row["order_id"] == order_id)
    assert (row["order_type"], row["status"]) == ("Limit", "Executed")
    (trade,) = [row for row in content(steps["trades"]) if row["order_id"] == order_id]
    fills = content(steps["fills"])
    assert sum(int(fill["executed_quantity"]) for fill in fills) == int(trade["quantity"]) == 1
    assert fills[0]["action"] == "B"


def test_what_the_broker_does_not_take_is_refused(steps):
    assert steps["option refused"]["Status"] == 500
    assert steps["margin refused"]["Error"] == "Product margin is prohibited"


def test_what_orders_need_is_calculated(steps):
    one, two, both = (content(each) for each in steps["calculated"])
    needed = [float(each["span_margin_required"]) for each in (one, two, both)]
    assert needed == pytest.approx([needed[0], 2 * needed[0], 3 * needed[0]])
    assert needed[0] > 0
    assert (one["order_margin"], one["trade_margin"], one["non_span_margin_required"]) == ("0", None, "0")
    (row,) = one["margin_calulation"]
    assert (row["product"], row["action"], row["right"].lower()) == (
        "Options",
        "Sell",
        steps["names"]["option"]["right"],
    )
    assert steps["calculated for nobody"]["Error"] == "Stock code is invalid"
    assert steps["calculated for shares"]["Error"]


def test_the_stream_shows_quotes_and_depth_in_the_sdks_words(steps):
    ticks = steps["ticks"]
    assert all("subscribed successfully" in each["message"] for each in steps["subscribed"])
    exchanges = {tick["exchange"] for tick in ticks if tick["quotes"] == "Quotes Data" and "exchange" in tick}
    assert exchanges == {"NSE Equity", "NSE Futures & Options", "BSE"}
    option = next(tick for tick in ticks if tick.get("exchange") == "NSE Futures & Options")
    assert (option["product_type"], option["strike_price"]) == ("Options", steps["names"]["option"]["strike_price"])
    assert option["OI"] > 0
    index = next(tick for tick in ticks if tick["symbol"].startswith("4.1!DESH"))
    assert (index["bQty"], index["ttq"]) == (None, None)
    assert index["last"] > 0
    depths = [tick for tick in ticks if tick["quotes"] == "Market Depth"]
    assert {tick["symbol"].partition(".")[0] for tick in depths} == {"1", "4"}
    assert all(len(tick["depth"]) == 5 for tick in depths)
    assert all(("BuyNoOfOrders-1" in tick["depth"][0]) == tick["symbol"].startswith("4") for tick in depths)


def test_the_order_stream_shows_an_order_in_the_sdks_words(steps):
    order_id = content(steps["placed for the stream"])["order_id"]
    message = next(each for each in steps["order messages"] if each["orderReference"] == order_id)
    assert (message["orderFlow"], message["limitMarketFlag"], message["orderType"]) == ("Buy", "Limit", "Day")
    assert (message["orderStatus"], message["productType"]) == ("Ordered", "Cash")
    assert (message["orderQuantity"], message["openQuantity"], message["orderExecutedQuantity"]) == ("1", "1", "0")


def test_the_candle_stream_is_parsed(steps):
    candle = steps["candle messages"][0]
    assert (candle["interval"], candle["stock_code"]) == ("1minute", steps["names"]["share"])
    assert float(candle["low"]) <= float(candle["close"]) <= float(candle["high"])
