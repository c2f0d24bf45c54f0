"""Shoonya's official client drives the shoonya dialect over real HTTP and the real socket, and finds what the broker's page says.

The client hands answers back as decoded JSON, or None where it sees a refusal. It has no call for UserDetails: the dialect's
profile is read by our codec only (tests/brokers/simulator/dialects/shoonya/test_login.py).
"""

from decimal import Decimal
from urllib.request import urlopen

import msgspec
import pytest


@pytest.fixture(scope="module")
def steps(simulator, run_driver):
    return run_driver("shoonya_driver.py", simulator["shoonya"])


@pytest.fixture(scope="module")
def ledger(simulator, steps):
    with urlopen(f"{simulator['shoonya']['control_url']}/ledger?since=0") as answer:
        return msgspec.json.decode(answer.read())


def test_the_code_becomes_a_token_once(steps, simulator):
    token, user, refresh, account = steps["token"]
    assert len(token) == 64
    assert user == account == simulator["shoonya"]["session"]["USERID"]
    assert refresh
    assert steps["code used twice"] is None
    assert steps["wrong secret"] is None
    assert steps["handed code"][1] == user
    assert steps["dead token"]["emsg"] == "Session Expired : Invalid Session Key"
    assert steps["dead token book"] is None
    assert steps["handed token"]["stat"] == "Ok"
    assert steps["logged out"]["stat"] == "Ok"


def test_the_files_have_the_recorded_headers(steps):
    cash = ["Exchange", "Token", "LotSize", "Symbol", "TradingSymbol", "Instrument", "TickSize", ""]
    assert steps["headers"]["NSE"] == steps["headers"]["BSE"] == cash
    tail = ["Symbol", "TradingSymbol", "Expiry", "Instrument", "OptionType", "StrikePrice", "TickSize", ""]
    assert steps["headers"]["NFO"] == ["Exchange", "Token", "LotSize", *tail]
    assert steps["headers"]["CDS"] == ["Exchange", "Token", "LotSize", "Precision", "Multiplier", *tail]
    assert steps["headers"]["MCX"] == ["Exchange", "Token", "LotSize", "GNGD", *tail]


def test_the_account_is_read(steps):
    limits = steps["limits"]
    assert limits["stat"] == "Ok"
    assert all(isinstance(value, str) for value in limits.values())
    assert Decimal(limits["cash"]) > 0
    assert len(steps["holdings"]) == 8
    assert steps["no holdings"] is None
    assert any("btstqty" in row for row in steps["holdings"])
    assert any("brkcolqty" in row for row in steps["holdings"])
    assert any(int(row["netqty"]) < 0 for row in steps["positions"])
    for row in steps["positions"]:
        # The documents' formula of what is open: net quantity x (last price - average) x price factor.
        gap = Decimal(row["lp"]) - Decimal(row["netavgprc"])
        assert abs(int(row["netqty"]) * gap * Decimal(row["prcftr"]) - Decimal(row["urmtom"])) < abs(
            int(row["netqty"])
        ) * Decimal(row["prcftr"]) * Decimal("0.011") + Decimal("0.01")


def test_quotes_are_parsed_and_are_those_asked_for(steps):
    for name, quote in steps["quotes"].items():
        row = steps["chosen"][name]
        assert (quote["exch"], quote["token"], quote["tsym"]) == (row["Exchange"], row["Token"], row["TradingSymbol"])
        assert Decimal(quote["lp"]) > 0
        assert quote["ti"] if name == "index" else Decimal(quote["ti"]) == Decimal(row["TickSize"])
    assert "v" not in steps["quotes"]["index"]
    assert "So5" in steps["quotes"]["share"]
    assert steps["unknown quote"] is None
    assert steps["search"]["values"][0]["token"] == steps["chosen"]["share"]["Token"]
    assert steps["security"]["tsym"] == steps["chosen"]["share"]["TradingSymbol"]


def test_candles_are_parsed_newest_first_and_days_are_texts_inside(steps):
    stamps = [int(row["ssboe"]) for row in steps["minutes"]]
    assert stamps == sorted(stamps, reverse=True)
    assert stamps
    assert steps["today"]
    for name in ("days", "index days"):
        rows = [msgspec.json.decode(text) for text in steps[name]]
        assert all(int(row["ssboe"]) % 86400 == 0 for row in rows)
        assert [int(row["ssboe"]) for row in rows] == sorted((int(row["ssboe"]) for row in rows), reverse=True)
        assert all(Decimal(row["intl"]) <= Decimal(row["into"]) <= Decimal(row["inth"]) for row in rows)
    assert steps["bad interval"] is None


def test_an_order_is_placed_modified_and_cancelled(steps, ledger):
    order_id = steps["placed"]["norenordno"]
    assert steps["modified"]["result"] == steps["cancelled"]["result"] == order_id
    row = next(row for row in steps["orders"] if row["norenordno"] == order_id)
    assert (row["status"], row["qty"], row["cancelqty"], row["remarks"]) == ("CANCELED", "3", "3", "sdk1")
    assert "fillshares" not in row
    assert steps["cancelled twice"] is None
    statuses = [state["status"] for state in steps["history"]]
    assert (statuses[0], statuses[-1]) == ("CANCELED", "OPEN")
    (order,) = [one for one in ledger["orders"] if one["order_id"] == order_id]
    assert (order["quantity"], order["status"], order["tag"]) == (3, "cancelled", "sdk1")
    verbs = [one["verb"] for one in ledger["messages"] if one["order_id"] == order_id]
    assert verbs[:3] == ["place", "modify", "cancel"]


def test_stops_after_market_orders_and_orders_without_a_tag_are_taken(steps, ledger):
    assert (steps["stop"]["status"], steps["stop"]["prctyp"]) == ("TRIGGER_PENDING", "SL-LMT")
    assert steps["stop modified"]["stat"] == steps["stop cancelled"]["stat"] == "Ok"
    held = {one["order_id"]: one for one in ledger["orders"]}
    assert held[steps["after market"]["norenordno"]]["after_market"] is True
    assert held[steps["untagged"]["norenordno"]]["tag"] is None
    assert steps["market order"] is None
    assert steps["unknown symbol"] is None


def test_a_commodity_is_bought_in_the_brokers_quantities(steps, ledger):
    order_id, row = steps["bought"]["norenordno"], steps["chosen"]["commodity"]
    fills = [one for one in ledger["fills"] if one["order_id"] == order_id]
    units = int(row["LotSize"]) * Decimal(row["GNGD"])
    assert sum(one["quantity"] for one in fills) == units
    trades = [trade for trade in steps["trades"] if trade["norenordno"] == order_id]
    assert sum(int(trade["flqty"]) for trade in trades) == int(row["LotSize"])
    position = next(one for one in steps["positions after"] if one["token"] == row["Token"])
    assert (position["netqty"], Decimal(position["prcftr"])) == (row["LotSize"], Decimal(row["GNGD"]))
    assert Decimal(steps["limits after"]["span"]) > Decimal(steps["limits"]["span"])


def test_the_socket_tells_snapshots_then_changes(steps):
    frames = steps["frames"]
    assert not [frame for frame in frames if frame["t"] == "error"]
    scrips = {(row["Exchange"], row["Token"]) for row in steps["chosen"].values()}
    assert {(frame["e"], frame["tk"]) for frame in frames if frame["t"] == "dk"} == scrips
    assert {(frame["e"], frame["tk"]) for frame in frames} == scrips
    for frame in frames:
        assert ("ts" in frame) == (frame["t"] in ("dk", "tk"))
        assert all(isinstance(value, str) for value in frame.values())
    share = steps["chosen"]["share"]["Token"]
    whole = next(frame for frame in frames if frame["t"] == "dk" and frame["tk"] == share)
    assert {"lp", "bp5", "bq5", "bo5", "sp5", "sq5", "so5", "ltt", "ft", "tbq"} <= whole.keys()
    changes = [frame for frame in frames if frame["t"] == "df"]
    assert changes
    assert all(len(frame) < len(whole) for frame in changes)


def test_the_socket_tells_orders_first_as_taken_then_as_they_stand(steps):
    updates = steps["order updates"]
    assert (updates[0]["status"], updates[0]["reporttype"]) == ("PENDING", "NewAck")
    assert "fillshares" not in updates[0]
    assert (updates[-1]["status"], updates[-1]["remarks"]) == ("COMPLETE", "sdk3")
    assert updates[-1]["fillshares"] == updates[-1]["qty"]
    assert sum(int(update.get("flqty", "0")) for update in updates) == int(updates[-1]["qty"])
    assert steps["refused stream"][0]["t"] == "ak"
    assert steps["refused stream"][0]["s"] != "OK"
