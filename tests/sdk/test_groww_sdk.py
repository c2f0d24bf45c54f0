"""Groww's official SDK drives the groww dialect over real HTTP and its NATS stream (nats-py), and finds what Groww documents."""

import pytest


@pytest.fixture(scope="module")
def steps(simulator, run_driver):
    return run_driver("groww_driver.py", simulator["groww"])


def test_both_kinds_of_key_mint_a_token_and_wrong_ones_are_refused_by_name(steps):
    assert all(len(token) == 64 for token in steps["tokens"])
    assert (steps["wrong totp"]["code"], "Invalid TOTP" in steps["wrong totp"]["message"]) == ("400", True)
    assert steps["wrong key"]["kind"] == "GrowwAPIAuthenticationException"
    assert "Invalid checksum" in steps["wrong secret"]["message"]
    # The envelope is read before the HTTP status.
    assert steps["dead token"] == steps["dead token at the stream"]
    assert steps["dead token"]["code"] == "GA005"


def test_the_account_is_read(steps):
    assert set(steps["profile"]) >= {"vendor_user_id", "ucc", "active_segments"}
    funds = steps["funds"]
    assert funds["equity_margin_details"]["cnc_balance_available"] > 0
    assert funds["fno_margin_details"]["span_margin_used"] > 0
    holdings = steps["holdings"]["holdings"]
    assert len(holdings) == 8
    assert any(row["t1_quantity"] for row in holdings)
    assert any(0 < row["pledge_quantity"] <= row["quantity"] for row in holdings)
    positions = steps["positions"]["positions"]
    assert any(row["quantity"] < 0 for row in positions)
    derivatives = steps["positions of a segment"]["positions"]
    assert derivatives == [row for row in positions if row["segment"] == "FNO"]


def test_quotes_of_every_kind_are_parsed(steps):
    for name, quote in steps["quotes"].items():
        assert quote["last_price"] > 0
        assert quote["ohlc"].startswith("{open: ")
        assert (len(quote["depth"]["buy"]) == 5) == (name != "index")
    assert len(steps["ltp"]) == len(steps["ohlc"]) == 2
    assert set(steps["ltp of a text"]) == set(steps["ltp"])
    assert steps["unknown symbol"]["code"] == "GA004"


def test_candles_are_parsed(steps):
    for name in ("share", "future", "index"):
        rows = steps[f"candles {name}"]["candles"]
        times = [row[0] for row in rows]
        assert times == sorted(set(times))
        assert all(len(row) == 7 and row[3] <= row[1] <= row[2] for row in rows)
        assert (rows[0][6] is None) == (name != "future")
    assert steps["bad interval"]["code"] == "GA001"
    future = steps["chosen"]["future"]
    assert future["expiry_date"] in steps["expiries"]["expiries"]
    assert future["groww_symbol"] in steps["contracts"]["contracts"]


def test_an_order_is_placed_modified_and_cancelled(steps):
    order_id = steps["placed"]["groww_order_id"]
    assert (steps["placed"]["order_status"], steps["placed"]["order_reference_id"]) == ("OPEN", "obsdk0000001")
    assert steps["placed twice"]["code"] == "GA007"
    assert steps["modified"] == {"groww_order_id": order_id, "order_status": "OPEN"}
    assert (steps["detail"]["quantity"], steps["detail"]["remaining_quantity"]) == (3, 3)
    assert steps["status"] == steps["status by reference"]
    assert steps["cancelled"]["order_status"] == "CANCELLED"
    assert steps["cancelled twice"]["code"] == "GA006"
    assert steps["unknown instrument"]["code"] == "GA001"
    row = next(row for row in steps["orders"]["CASH"]["order_list"] if row["groww_order_id"] == order_id)
    assert (row["order_status"], row["quantity"], row["remaining_quantity"]) == ("CANCELLED", 3, 0)
    assert {len(steps["orders"][segment]["order_list"]) > 0 for segment in ("CASH", "FNO", "COMMODITY")} == {True}


def test_what_orders_need_is_told(steps):
    one, two, share = steps["margin"], steps["margin of two"], steps["margin of a share"]
    assert one["total_requirement"] == pytest.approx(one["span_required"] + one["exposure_required"]) != 0
    assert two["total_requirement"] == pytest.approx(2 * one["total_requirement"], rel=0.02)
    assert share["total_requirement"] == share["cash_mis_margin_required"] > 0
    assert steps["margin of two shares"]["code"] == steps["margin of nothing"]["code"] == "GA001"


def test_a_trade_is_in_the_orders_trades_and_the_position(steps):
    order_id, future = steps["bought"], steps["chosen"]["future"]
    trades = steps["trades"]["trade_list"]
    assert {row["groww_order_id"] for row in trades} == {order_id}
    assert sum(row["quantity"] for row in trades) == int(future["lot_size"])
    assert steps["trades of a commodity"]["trade_list"]
    position = next(
        row for row in steps["positions after"]["positions"] if row["trading_symbol"] == future["trading_symbol"]
    )
    assert position["credit_quantity"] >= int(future["lot_size"])


def test_the_stream_carries_prices_depth_and_index_values(steps):
    chosen = steps["chosen"]
    prices, depth = steps["prices"]["NSE"], steps["depth"]["NSE"]
    for segment, name in (("CASH", "share"), ("FNO", "future")):
        token = chosen[name]["exchange_token"]
        assert prices[segment][token]["ltp"] > 0
        assert prices[segment][token]["volume"] == 0.0  # the plain price fills the last price only
        book = depth[segment][token]
        buy, sell = ([book[side][level]["price"] for level in sorted(book[side])] for side in ("buyBook", "sellBook"))
        assert set(book["buyBook"]) | set(book["sellBook"]) == {
            "1",
            "2",
            "3",
            "4",
            "5",
        }  # one side may end at its circuit
        assert [*reversed(buy), *sell] == sorted([*buy, *sell])
    assert steps["index"]["NSE"]["CASH"][chosen["index"]["exchange_token"]]["value"] > 0


def test_the_stream_carries_orders_and_positions(steps):
    chosen, updates = steps["chosen"], steps["order updates"]
    by_segment = {(kind, segment): value for kind, segment, value in updates}
    share, future = by_segment["order_updates", "CASH"], by_segment["order_updates", "FNO"]
    assert (share["orderStatus"], share["filledQty"], share["transactionType"]) == ("EXECUTED", 1, "BUY")
    assert share["contractId"] == chosen["share"]["isin"]
    assert (future["orderStatus"], future["product"], future["orderType"]) == ("EXECUTED", "NRML", "MARKET")
    assert future["contractId"] == chosen["future"]["trading_symbol"]
    position = by_segment["position_updates", "FNO"]
    assert position["symbolIsin"] == chosen["future"]["trading_symbol"]
    assert position["exchangePosition"]["NSE"]["creditQty"] >= int(chosen["future"]["lot_size"])
    assert list(steps["unsubscribed"]["NSE"]["CASH"].values()) == [True]
