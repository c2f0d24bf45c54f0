"""5paisa's official SDK drives the fivepaisa dialect over real HTTP and its real socket, and finds what 5paisa documents.

The SDK hands the socket's messages on as text and has no parser for them: what is in them is judged here by the documents.
"""

import pytest

FEED_C = "wss://openfeed.5paisa.com/feeds/api/chat?Value1="


@pytest.fixture(scope="module")
def steps(simulator, run_driver):
    return run_driver("fivepaisa_driver.py", simulator["fivepaisa"])


def test_a_one_time_code_becomes_a_token_whose_claims_the_sdk_reads(steps):
    assert steps["wrong code"] is None
    assert steps["token"].count(".") == 2
    assert steps["token again"] is None, "a request token is good once"
    assert steps["client code"] == "52345678"
    assert steps["feed of the token"] == steps["minted"] == FEED_C


def test_the_account_is_read(steps):
    (margin,) = steps["margin"]
    assert margin["NetAvailableMargin"] == pytest.approx(
        margin["Ledgerbalance"] + margin["CollateralValueAfterHairCut"] - margin["MarginUtilized"]
    )
    holdings = steps["holdings"]
    assert len(holdings) == 8
    assert all(row["Quantity"] == row["DPQty"] + row["PoolQty"] and row["NseCode"] for row in holdings)
    assert any(row["PoolQty"] for row in holdings)
    assert any(row["BodQty"] < 0 for row in steps["positions"])
    assert all(row["NetQty"] == row["BodQty"] + row["BuyQty"] - row["SellQty"] for row in steps["positions"])
    assert steps["positions of the day"]["Status"] == 0
    assert {row["Exch"] for row in steps["market status"]} == {"N", "B", "M"}


def test_the_instrument_file_holds_every_kind(steps):
    chosen = steps["chosen"]
    assert chosen["share"]["ISIN"].startswith("INE")
    assert chosen["share"]["Expiry"] == "1980-01-01 00:00:00"
    assert chosen["index"]["SymbolRoot"] == "DESH 50"
    assert chosen["option"]["ScripData"].endswith(f"_CE_{chosen['option']['StrikeRate']}")
    assert chosen["currency"]["Multiplier"] == "1000"
    assert int(chosen["commodity"]["Multiplier"]) > 1


def test_quotes_are_read(steps):
    asked = {(row["Exch"], row["ExchType"], int(row["ScripCode"])) for row in steps["chosen"].values()}
    feed, snapshot = steps["market feed"]["Data"], steps["snapshot"]["Data"]
    assert {(row["Exch"], row["ExchType"], row["Token"]) for row in feed} == asked
    assert {(row["Exchange"], row["ExchangeType"], row["ScripCode"]) for row in snapshot} == asked
    assert all(row["LastRate"] > 0 and "Open" not in row for row in feed)
    assert all(row["Open"] > 0 for row in snapshot)
    (by_data,) = steps["market feed by data"]["Data"]
    assert by_data["Token"] == int(steps["chosen"]["option"]["ScripCode"])
    flags = [level["BbBuySellFlag"] for level in steps["depth"]["MarketDepthData"]]
    assert flags == [66] * 5 + [83] * 5


def test_candles_are_read_oldest_first(steps):
    for name in ("days", "minutes"):
        times = [row["Datetime"] for row in steps[name]]
        assert times == sorted(set(times)) != []
        assert all(len(time) == len("2026-11-20T09:15:00") for time in times)
        assert all(row["Low"] <= row["Open"] <= row["High"] for row in steps[name])


def test_an_order_is_placed_modified_and_cancelled(steps):
    placed, row = steps["placed"], steps["resting"]
    assert (placed["Status"], placed["ExchOrderID"], placed["RemoteOrderID"]) == (0, "0", "sdk1")
    assert (row["OrderStatus"], row["Qty"], row["RemoteOrderID"], row["ExchOrderID"] != "0") == (
        "Pending",
        2,
        "sdk1",
        True,
    )
    (status,) = steps["status"]["OrdStatusResLst"]
    assert status["ExchOrderID"] == int(row["ExchOrderID"])
    assert steps["modified"]["BrokerOrderID"] == placed["BrokerOrderID"]
    assert (steps["after modify"]["Qty"], steps["after modify"]["RequestType"]) == (3, "M")
    assert steps["cancelled"]["Status"] == 0
    assert (steps["cancelled twice"]["Status"], steps["cancelled twice"]["BrokerOrderID"]) == (1, 0)
    assert (steps["after cancel"]["OrderStatus"].strip(), steps["after cancel"]["RequestType"]) == ("Cancelled", "C")


def test_what_the_risk_check_refuses_comes_with_a_200(steps):
    assert (steps["at market"]["Status"], steps["at market"]["Message"]) == (1, "Market order with Algo Id not allowed")
    assert (steps["unknown code"]["Status"], steps["unknown code"]["Message"]) == (2, "Invalid ScripCode")
    stop = steps["stop"]
    assert (stop["AtMarket"], stop["WithSL"], stop["SLTriggered"]) == ("N", "Y", "N")
    assert 0 < stop["SLTriggerRate"] < stop["Rate"]


def test_what_orders_need_is_told(steps):
    one, two = steps["order margin"], steps["order margin of two"]
    assert (one["Status"], one["AvailableMargin"] > 0) == (0, True)
    assert two["TotalMarginRequired"] > one["TotalMarginRequired"] > 0
    assert (steps["order margin of nothing"]["Status"], steps["order margin of nothing"]["Message"]) == (
        2,
        "Invalid ScripCode",
    )
    assert (steps["order margin of many"]["Status"], steps["order margin of many"]["Message"]) == (
        1,
        "One Time PreOrderMarginCalc Limit Exceed.",
    )


def test_a_commodity_is_bought_by_the_contract(steps):
    row, units = steps["bought row"], int(steps["chosen"]["commodity"]["Multiplier"])
    assert (row["OrderStatus"], row["TradedQty"]) == ("Fully Executed", 1)
    trades = [each for each in steps["trades"]["TradeBookDetail"] if each["ExchOrderID"] == row["ExchOrderID"]]
    assert sum(each["Qty"] for each in trades) == 1
    assert all("BrokerOrderId" not in each and each["Multiplier"] == units for each in trades)
    (position,) = [each for each in steps["positions after"] if each["ScripCode"] == row["ScripCode"]]
    assert (position["NetQty"], position["Multiplier"]) == (1, units)
    assert position["BuyValue"] == pytest.approx(row["AveragePrice"] * units)


def test_the_stream_carries_quotes_depth_open_interest_and_orders(steps):
    frames = steps["stream"]
    first, *later = [frame for frame in frames if isinstance(frame, list)]
    assert {row["Token"] for row in first} == {int(row["ScripCode"]) for row in steps["chosen"].values()}
    assert all(row["LastRate"] > 0 and "OpenRate" in row for row in first), "the first quote is whole"
    assert any("OpenRate" not in row for frame in later for row in frame), "later ones hold what changed"
    depth = next(frame for frame in frames if "Details" in frame)
    assert [level["BbBuySellFlag"] for level in depth["Details"]] == [66] * 5 + [83] * 5
    assert any("OpenInterest" in frame for frame in frames)
    orders = [frame for frame in frames if isinstance(frame, dict) and "ReqType" in frame]
    placed, fill = orders[0], next(frame for frame in orders if frame["ReqType"] == "T")
    assert (placed["ReqType"], placed["BrokerOrderID"]) == ("P", steps["streamed order"]["BrokerOrderID"])
    assert "BrokerOrderID" not in fill
    assert (fill["ExchOrderID"], fill["Status"], fill["TotalTradedQty"]) == (placed["ExchOrderID"], "Fully Executed", 1)
    assert placed["RemoteOrderId"] == fill["RemoteOrderId"] == "sdk4"


def test_a_second_connection_ends_the_first_with_1000(steps):
    assert steps["evicted with"] == [1000]
    ((quote,),) = steps["index stream"]
    assert quote["Token"] == int(steps["chosen"]["index"]["ScripCode"])


def test_a_dead_token_is_status_nine_in_a_200(steps):
    assert steps["dead token"] == {"Message": "Invalid Session", "Status": 9}
    assert steps["dead token's book"] is None
