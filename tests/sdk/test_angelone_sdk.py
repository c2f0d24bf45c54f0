"""Angel One's official SDK drives the angelone dialect over real HTTP and both real sockets, and finds what SmartAPI documents;
what it did is judged on the exchange's ledger."""

from urllib.request import urlopen

import msgspec
import pytest

SEGMENTS = {
    "share": ("NSE", ""), "index": ("NSE", "AMXIDX"), "option": ("NFO", "OPTIDX"), "currency": ("CDS", "FUTCUR"),
    "commodity": ("MCX", "FUTCOM"), "farm": ("NCDEX", "FUTCOM"),
}  # fmt: skip


@pytest.fixture(scope="module")
def steps(simulator, run_driver):
    return run_driver("angelone_driver.py", simulator["angelone"])


@pytest.fixture(scope="module")
def ledger(simulator, steps):
    with urlopen(f"{simulator['angelone']['control_url']}/ledger?since=0") as answer:
        return msgspec.json.decode(answer.read(), type=dict[str, object])


def data(step):
    assert (step["status"], step["message"], step["errorcode"]) == (True, "SUCCESS", "")
    return step["data"]


def refused(step, code):
    """A no comes as an answer: the SDK raises nothing."""
    assert (step["status"], step["errorcode"], step["data"]) == (False, code, None)
    return step["message"]


def test_pin_and_one_time_code_make_a_session(steps, simulator):
    session = data(steps["session"])
    assert session["clientcode"] == simulator["angelone"]["credentials"]["client_code"]
    # The SDK puts the word in front of the token it hands on, and keeps it bare itself.
    assert session["jwtToken"].startswith("Bearer ey")
    assert session["jwtToken"].count(".") == 2
    assert refused(steps["wrong code"], "AB1050") == "Invalid totp"
    refused(steps["wrong pin"], "AB1000")


def test_a_session_is_renewed_and_ended(steps):
    renewed = data(steps["renewed"])
    assert f"Bearer {renewed['jwtToken']}" != steps["session"]["data"]["jwtToken"]
    assert {"refreshToken", "feedToken"} < set(renewed)
    assert data(steps["profile after renewal"])["clientcode"] == steps["session"]["data"]["clientcode"]
    data(steps["logged out"])
    refused(steps["after logout"], "AG8001")
    # The gateway's own words on the order routes.
    gateway = {"success": False, "message": "Invalid Token", "errorCode": "AG8001", "data": ""}
    assert steps["orders after logout"] == gateway


def standing(holdings):
    """What of holdings the market does not move between two calls."""
    moving = {"ltp", "profitandloss", "pnlpercentage"}
    return [{name: value for name, value in row.items() if name not in moving} for row in holdings]


def test_the_account_is_read(steps, ledger):
    assert "nse_cm" in data(steps["profile"])["exchanges"]
    funds = data(steps["funds"])
    assert float(funds["net"]) > 0
    assert float(funds["net"]) == float(funds["availablecash"])
    assert all(value is None or isinstance(value, str) for value in funds.values())
    holdings = data(steps["holdings"])
    assert len(holdings) == 8
    assert standing(data(steps["all holdings"])["holdings"]) == standing(holdings)
    assert {"totalholdingvalue", "totalinvvalue", "totalprofitandloss", "totalpnlpercentage"} == set(
        data(steps["all holdings"])["totalholding"]
    )
    assert any(row["t1quantity"] for row in holdings)
    assert any(row["collateralquantity"] for row in holdings)
    positions = data(steps["positions"])
    assert all(isinstance(value, str) for row in positions for value in row.values())
    assert any(int(row["cfsellqty"]) and row["netqty"].startswith("-") for row in positions)
    assert any(row["netvalue"].startswith("- ") for row in positions)


def test_the_instrument_file_holds_every_segment(steps):
    chosen = steps["chosen"]
    assert {name: (row["exch_seg"], row["instrumenttype"]) for name, row in chosen.items()} == SEGMENTS
    assert chosen["share"]["symbol"].endswith("-EQ")
    assert (chosen["currency"]["lotsize"], chosen["currency"]["tick_size"]) == ("1", "0.250000")
    assert int(chosen["commodity"]["lotsize"]) > 1
    assert float(chosen["option"]["strike"]) % 100 == 0


def test_quotes_are_parsed_and_what_is_unknown_is_listed_beside_them(steps):
    tokens = {row["token"] for row in steps["chosen"].values()}
    for mode in ("FULL", "OHLC", "LTP"):
        answer = data(steps[f"quote {mode}"])
        assert {row["symbolToken"] for row in answer["fetched"]} == tokens
        assert all(row["ltp"] > 0 for row in answer["fetched"])
        assert [row["errorCode"] for row in answer["unfetched"]] == ["AB4018"]
    full = next(
        row for row in data(steps["quote FULL"])["fetched"] if row["symbolToken"] == steps["chosen"]["share"]["token"]
    )
    assert (len(full["depth"]["buy"]), len(full["depth"]["sell"])) == (5, 5)
    assert data(steps["ltp"])["symboltoken"] == steps["chosen"]["share"]["token"]
    assert steps["chosen"]["share"]["token"] in {row["symboltoken"] for row in data(steps["search"])}


def test_candles_are_parsed_oldest_first(steps):
    for name in ("days", "minutes"):
        rows = data(steps[name])
        times = [row[0] for row in rows]
        assert times == sorted(set(times))
        assert all(len(row) == 6 and row[3] <= row[1] <= row[2] and row[0].endswith("+05:30") for row in rows)
    assert all(set(row) == {"time", "oi"} for row in data(steps["interest"]))
    refused(steps["bad interval"], "")


def test_what_orders_need_is_told(steps):
    one, two = data(steps["margin"]), data(steps["margin of two"])
    assert 0 < one["totalMarginRequired"] == pytest.approx(one["marginComponents"]["spanMargin"])
    assert two["totalMarginRequired"] > one["totalMarginRequired"]
    refused(steps["margin of nothing"], "AB1009")


def test_an_order_is_placed_modified_and_cancelled(steps, ledger):
    placed = data(steps["placed"])
    order_id = placed["orderid"]
    assert placed["script"] == steps["chosen"]["share"]["symbol"]
    for name in ("modified", "cancelled"):
        assert data(steps[name]) == {"orderid": order_id, "uniqueorderid": placed["uniqueorderid"]}
    details = data(steps["details"])
    assert (details["orderid"], details["quantity"], details["status"], details["ordertag"]) == (
        order_id, "3", "open", "sdk1",
    )  # fmt: skip
    row = next(row for row in data(steps["orders"]) if row["orderid"] == order_id)
    assert (row["status"], row["quantity"], row["cancelsize"], row["filledshares"]) == ("cancelled", "3", "3", "0")
    refused(steps["wrong variety"], "AB1008")
    refused(steps["cancelled twice"], "AB1013")
    assert steps["unknown instrument"] is None  # the SDK's way of a refused order
    refused(steps["too long a tag"], "AB4008")
    (order,) = [each for each in ledger["orders"] if each["order_id"] == order_id]
    assert (order["status"], order["quantity"], order["filled_quantity"]) == ("cancelled", 3, 0)
    verbs = [each["verb"] for each in ledger["messages"] if each["order_id"] == order_id]
    assert verbs[:3] == ["place", "modify", "cancel"]


def test_a_lot_of_goods_is_one_and_its_trade_names_no_token(steps, ledger):
    order_id, commodity = steps["lots bought"], steps["chosen"]["commodity"]
    rows = [row for row in data(steps["trades"]) if row["orderid"] == order_id]
    assert sum(int(row["fillsize"]) for row in rows) == 1
    assert all("symboltoken" not in row and len(row["filltime"]) == 8 for row in rows)
    (order,) = [each for each in ledger["orders"] if each["order_id"] == order_id]
    assert order["filled_quantity"] == int(commodity["lotsize"])
    position = next(row for row in data(steps["positions after"]) if row["symboltoken"] == commodity["token"])
    assert (position["netqty"], position["producttype"]) == ("1", "CARRYFORWARD")


def test_a_stop_waits_under_its_own_variety(steps):
    row = next(row for row in data(steps["orders"]) if row["orderid"] == steps["stop"])
    assert (row["variety"], row["ordertype"], row["status"]) == ("STOPLOSS", "STOPLOSS_LIMIT", "trigger pending")
    assert data(steps["stop cancelled"])["orderid"] == steps["stop"]


def test_the_market_socket_sends_every_mode_of_every_segment(steps):
    assert (steps["market opened"], steps["packets in time"]) == (True, True)
    tokens = {row["token"] for row in steps["chosen"].values()}
    packets = {mode: {each["token"]: each for each in rows} for mode, rows in steps["packets"].items()}
    for mode in ("1", "2", "3"):
        assert set(packets[mode]) == tokens
        assert all(each["last_traded_price"] > 0 for each in packets[mode].values())
    share, index = (packets["3"][steps["chosen"][name]["token"]] for name in ("share", "index"))
    assert (index["sequence_number"], index["volume_trade_for_the_day"]) == (0, 0)
    assert [each["flag"] for each in share["best_5_buy_data"]] == [1] * 5
    assert [each["flag"] for each in share["best_5_sell_data"]] == [0] * 5
    assert share["best_5_buy_data"][0]["price"] < share["best_5_sell_data"][0]["price"]
    currency = packets["3"][steps["chosen"]["currency"]["token"]]
    assert 50 < currency["last_traded_price"] / 10_000_000 < 150
    (deep,) = packets["4"].values()
    assert (len(deep["depth_20_buy_data"]), len(deep["depth_20_sell_data"])) == (20, 20)
    assert deep["depth_20_buy_data"][0]["price"] < deep["depth_20_sell_data"][0]["price"]


def test_the_order_socket_greets_and_tells_an_order_to_its_end(steps, ledger):
    assert (steps["greeting"]["order-status"], steps["greeting"]["orderData"]) == ("AB00", {})
    assert steps["update in time"]
    codes = [each["order-status"] for each in steps["updates"]]
    assert (codes[0], codes[-1]) == ("AB09", "AB05")
    row = steps["updates"][-1]["orderData"]
    (order,) = [each for each in ledger["orders"] if each["order_id"] == row["orderid"]]
    assert (order["status"], str(order["filled_quantity"])) == ("complete", row["filledshares"])
    assert isinstance(row["averageprice"], float)


def test_what_the_sdk_leaves_to_its_caller_is_there_too(steps):
    assert steps["pong"] == "pong"
    assert steps["bad request"]["errorCode"] == "E1001"
    assert steps["refused handshake"] == {"status": 401, "message": "Invalid Header - Invalid Feed Token"}
