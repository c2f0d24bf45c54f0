"""Dhan's official SDK drives the dhan dialect over real HTTP and real sockets, and finds what Dhan documents; what became of
its orders is judged on the exchange's ledger.

The SDK never looks into a 2xx body, so a refusal in one is a success to it: its answers are the bodies as they came.
"""

import urllib.request

import msgspec
import pytest

from tests.support.patience import PATIENCE_SECONDS


@pytest.fixture(scope="module")
def steps(simulator, run_driver):
    return run_driver("dhan_driver.py", simulator["dhan"])


@pytest.fixture(scope="module")
def ledger(steps, simulator):
    with urllib.request.urlopen(
        f"{simulator['dhan']['control_url']}/ledger?since=0", timeout=PATIENCE_SECONDS
    ) as answer:
        return msgspec.json.decode(answer.read())


def data(answer):
    assert (answer["status"], answer["remarks"]) == ("success", "")
    return answer["data"]


def refusal(answer):
    assert answer["status"] == "failure"
    return answer["remarks"]["error_code"]


def in_ledger(ledger, order_id):
    return next(order for order in ledger["orders"] if order["order_id"] == order_id)


def test_pin_and_code_make_a_token_that_can_be_renewed(steps, simulator):
    client = simulator["dhan"]["credentials"]["client_id"]
    assert set(steps["token"]) == {
        "dhanClientId", "dhanClientName", "dhanClientUcc", "givenPowerOfAttorney", "accessToken", "expiryTime",
    }  # fmt: skip
    assert steps["profile"]["dhanClientId"] == client
    assert steps["renewed"]["accessToken"] != steps["token"]["accessToken"]
    assert "DH-901" in steps["old token"]["error"]


def test_a_wrong_code_or_pin_is_told_in_a_good_answer_without_a_token(steps):
    assert steps["wrong code"]["answer"] == {"message": "Invalid TOTP", "status": "error"}
    assert steps["wrong pin"]["answer"]["status"] == "error"
    assert "accessToken" not in steps["wrong pin"]["answer"]


def test_the_account_is_read(steps, ledger):
    assert data(steps["funds"])["availabelBalance"] > 0
    holdings = data(steps["holdings"])
    assert len(holdings) == 8
    assert {row["exchange"] for row in holdings} == {"ALL"}
    assert any(row["t1Qty"] for row in holdings)
    assert any(row["collateralQty"] for row in holdings)
    assert {row["positionType"] for row in data(steps["positions"])} >= {"LONG", "SHORT"}


def test_both_instrument_files_are_parsed_and_name_the_same_instruments(steps):
    (compact, compact_names), (detailed, detailed_names) = steps["compact"], steps["detailed"]
    assert compact == detailed + 1  # the exchange's test symbol is in the compact one alone
    assert len(compact_names) == 16
    assert [name for name in detailed_names if not name.startswith("Unnamed")][-1] == "SM_FREEZE_QTY"
    chosen = steps["chosen"]
    assert chosen["share"]["isin"].startswith("INE")
    assert chosen["commodity"]["lot"] == chosen["currency"]["lot"] == 1.0
    assert chosen["index"]["tick"] == 0.05
    assert chosen["option"]["tick"] == 5.0


def test_quotes_and_candles_are_parsed(steps):
    quotes, chosen = data(steps["quote"])["data"], steps["chosen"]
    for each in chosen.values():
        quote = quotes[each["segment"]][each["id"]]
        assert quote["last_price"] > 0
        assert [len(quote["depth"][side]) for side in ("buy", "sell")] == [5, 5]
    assert set(data(steps["ohlc"])["data"]) == set(quotes)
    assert "BSE_EQ" not in data(steps["ltp"])["data"]  # what is not known is absent
    for kind in ("share", "option"):
        for name in ("days", "minutes"):
            columns = data(steps[f"{name} {kind}"])
            assert len({len(columns[each]) for each in ("timestamp", "open", "high", "low", "close", "volume")}) == 1
            assert columns["timestamp"] == sorted(columns["timestamp"])
        assert all(at % 86_400 == 66_600 for at in data(steps[f"days {kind}"])["timestamp"])  # 18:30 UTC
    assert refusal(steps["wrong instrument"]) == "DH-905"


def test_an_order_is_placed_modified_and_cancelled(steps, ledger):
    order_id = data(steps["placed"])["orderId"]
    assert data(steps["modified"])["orderId"] == order_id
    assert data(steps["cancelled"]) == {"orderId": order_id, "orderStatus": "CANCELLED"}
    row = next(row for row in data(steps["orders"]) if row["orderId"] == order_id)
    assert row == data(steps["one order"]) == data(steps["by tag"])
    assert (row["orderStatus"], row["quantity"], row["correlationId"]) == ("CANCELLED", 3, "sdk 1")
    verbs = [each["verb"] for each in ledger["messages"] if each["order_id"] == order_id]
    assert verbs == ["place", "modify", "cancel", "cancel"]
    order = in_ledger(ledger, order_id)
    assert (order["status"], order["quantity"]) == ("cancelled", 3)


def test_what_orders_need_is_told(steps):
    one, two = data(steps["margin"]), data(steps["margin of two"])
    assert one["totalMargin"] == pytest.approx(one["spanMargin"] + one["exposureMargin"]) != 0
    assert two["totalMargin"] == pytest.approx(2 * one["totalMargin"], rel=0.02)
    assert data(steps["margin of options"])["totalMargin"] > 0
    assert refusal(steps["margin of nothing"]) == refusal(steps["margin of currency"]) == "DH-905"


def test_refusals_carry_dhans_codes_and_one_in_a_good_answer_is_told_by_its_status(steps, ledger):
    assert refusal(steps["cancelled twice"]) == refusal(steps["cancelled unknown"]) == "DH-906"
    assert refusal(steps["bad order"]) == "DH-905"
    refused = data(steps["refused order"])
    assert refused["orderStatus"] == "REJECTED"
    assert in_ledger(ledger, refused["orderId"])["status"] == "rejected"
    row = next(row for row in data(steps["orders"]) if row["orderId"] == refused["orderId"])
    assert (row["orderStatus"], bool(row["omsErrorDescription"])) == ("REJECTED", True)


def test_market_orders_trade_lots_are_lots_and_slices_are_orders_of_their_own(steps, ledger):
    filled, lots = data(steps["filled"])["orderId"], data(steps["lots"])["orderId"]
    rows = {row["orderId"]: row for row in data(steps["orders"])}
    assert (rows[filled]["orderStatus"], rows[filled]["filledQty"]) == ("TRADED", 1)
    assert [row["tradedPrice"] for row in data(steps["order trades"])] == [rows[filled]["averageTradedPrice"]]
    assert {row["orderId"] for row in data(steps["trades"])} >= {filled, lots}
    assert (rows[lots]["quantity"], rows[lots]["exchangeSegment"]) == (1, "MCX_COMM")
    units = in_ledger(ledger, lots)["quantity"]
    assert units > 1
    position = next(
        row for row in data(steps["positions after"]) if row["securityId"] == steps["chosen"]["commodity"]["id"]
        and row["exchangeSegment"] == "MCX_COMM"
    )  # fmt: skip
    assert (position["multiplier"], position["dayBuyQty"]) == (units, 1)
    option = steps["chosen"]["option"]
    slices = [in_ledger(ledger, each["orderId"])["quantity"] for each in data(steps["sliced"])]
    assert slices == [option["freeze"], int(option["lot"])]


@pytest.mark.parametrize(
    ("mode", "kinds"),
    [
        ("full", {"Full Data share", "Full Data commodity", "Full Data currency", "Quote Data index", "Previous Close share"}),
        ("quote", {"Quote Data share", "Quote Data commodity", "OI Data commodity", "Quote Data index"}),
        ("ticker", {"Ticker Data share", "Ticker Data index", "Ticker Data currency", "Ticker Data commodity"}),
    ],
)  # fmt: skip
def test_the_market_stream_sends_every_kind_of_packet(steps, mode, kinds):
    assert steps[f"{mode} in time"]
    packets = steps[f"{mode} packets"]
    assert set(packets) >= kinds
    quotes, chosen = data(steps["quote"])["data"], steps["chosen"]
    for title in kinds - {"Previous Close share", "OI Data commodity"}:
        one = chosen[title.rpartition(" ")[2]]
        quote = quotes[one["segment"]][one["id"]]
        assert float(packets[title]["LTP"]) == pytest.approx(quote["last_price"], rel=0.2)
    if mode == "full":
        share = quotes["NSE_EQ"][chosen["share"]["id"]]
        assert float(packets["Previous Close share"]["prev_close"]) == share["ohlc"]["close"]
        assert len(packets["Full Data share"]["depth"]) == 5


def test_trade_times_read_as_if_they_were_utc_are_the_indian_wall_clock(steps):
    """What two public live clients found, and the SDK's own conversion shows."""
    written = data(steps["orders"])[-1]["createTime"].rpartition(" ")[2]
    hours, minutes, _ = (int(part) for part in written.split(":"))
    shown = steps["ticker packets"]["Ticker Data share"]["LTT"]
    of_day = int(shown[:2]) * 60 + int(shown[3:5])
    assert (of_day - (hours * 60 + minutes)) % 1440 < 5


def test_the_order_stream_tells_each_state_of_an_order(steps, ledger):
    assert steps["update in time"]
    alerts = [each["Data"] for each in steps["updates"]]
    assert {each["Type"] for each in steps["updates"]} == {"order_alert"}
    assert (alerts[0]["status"], alerts[0]["tradedQty"]) == ("TRANSIT", 0)
    assert (alerts[-1]["status"], alerts[-1]["tradedQty"]) == ("Traded", 1)
    assert in_ledger(ledger, alerts[-1]["orderNo"])["filled_quantity"] == 1


def test_a_dead_token_is_refused_in_the_words_of_each_family(steps):
    assert refusal(steps["dead trading"]) == "DH-901"
    assert steps["dead data"]["status"] == "failure"  # without the three error keys the SDK can name no code
    assert refusal(steps["dead data"]) is None
