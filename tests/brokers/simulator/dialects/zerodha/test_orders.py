"""Kite's server over the real exchange: orders, books and funds."""

import pytest

from tests.support.every_case import every_case


# orders ---------------------------------------------------------------------------------------------------------------
def test_an_order_rests_is_changed_and_cancelled(kite):
    form = kite.order_form(kite.share, quantity="3", tag="ob12")
    order_id = kite.data("POST", "/orders/regular", form)["order_id"]
    row = kite.data("GET", "/orders")[-1]
    assert (row["order_id"], row["status"], row["quantity"], row["pending_quantity"]) == (order_id, "OPEN", 3, 3)
    assert (row["tag"], row["tags"], row["variety"], row["price"]) == (
        "ob12",
        ["ob12"],
        "regular",
        float(form["price"]),
    )
    assert row["instrument_token"] == kite.share.contract.exchange_token * 256 + 1
    assert row["order_timestamp"] == "2026-11-23 10:00:00"
    assert kite.data("PUT", f"/orders/regular/{order_id}", {"quantity": "5"}) == {"order_id": order_id}
    assert kite.data("GET", "/orders")[-1]["quantity"] == 5
    assert kite.data("DELETE", f"/orders/regular/{order_id}") == {"order_id": order_id}
    row = kite.data("GET", "/orders")[-1]
    assert (row["status"], row["pending_quantity"], row["cancelled_quantity"]) == ("CANCELLED", 0, 5)
    history = [state["status"] for state in kite.data("GET", f"/orders/{order_id}")]
    assert (history[0], history[-1]) == ("PUT ORDER REQ RECEIVED", "CANCELLED")


def test_a_finished_and_an_unknown_order_are_refused(kite):
    order_id = kite.data("POST", "/orders/regular", kite.order_form(kite.share))["order_id"]
    kite.data("DELETE", f"/orders/regular/{order_id}")
    for method, path in (("DELETE", f"/orders/regular/{order_id}"), ("PUT", f"/orders/regular/{order_id}"),
                         ("DELETE", "/orders/regular/1"), ("PUT", "/orders/regular/1"), ("GET", "/orders/1")):  # fmt: skip
        status, body = kite.call(method, path, {"quantity": "2"})
        assert (status, body["error_type"]) == (400, "OrderException"), (method, path)


def test_a_market_order_trades_and_shows_in_trades_and_positions(kite):
    share = kite.share
    before = len(kite.data("GET", "/trades"))
    form = kite.order_form(share, order_type="MARKET", product="MIS", market_protection="-1")
    del form["price"]
    order_id = kite.data("POST", "/orders/regular", form)["order_id"]
    row = next(row for row in kite.data("GET", "/orders") if row["order_id"] == order_id)
    assert (row["status"], row["filled_quantity"], row["product"]) == ("COMPLETE", 1, "MIS")
    (trade,) = kite.data("GET", f"/orders/{order_id}/trades")
    assert trade["average_price"] == row["average_price"] > 0
    assert trade["fill_timestamp"] == "2026-11-23 10:00:00"
    assert trade["order_timestamp"] == "10:00:00"
    assert len(kite.data("GET", "/trades")) == before + 1
    for view in ("net", "day"):
        held = [
            each
            for each in kite.data("GET", "/portfolio/positions")[view]
            if each["tradingsymbol"] == share.tradingsymbol and each["product"] == "MIS"
        ]
        assert held[0]["day_buy_quantity"] >= 1


def test_commodity_orders_and_positions_are_in_lots(kite):
    crude = kite.crude
    assert crude.exchange == "MCX"
    form = kite.order_form(crude, order_type="MARKET", quantity="2", transaction_type="SELL", product="MIS")
    del form["price"]
    order_id = kite.data("POST", "/orders/regular", form)["order_id"]
    order = kite.account.order(order_id)
    assert order.quantity == 200
    row = next(row for row in kite.data("GET", "/orders") if row["order_id"] == order_id)
    assert (row["quantity"], row["filled_quantity"]) == (2, order.filled_quantity // 100)
    position = next(
        each for each in kite.data("GET", "/portfolio/positions")["net"]
        if each["tradingsymbol"] == crude.tradingsymbol and each["product"] == "MIS"
    )  # fmt: skip
    assert (position["quantity"], position["multiplier"]) == (-2, 100)
    assert position["sell_value"] == pytest.approx(2 * 100 * position["sell_price"])
    assert position["value"] == pytest.approx(position["sell_value"] - position["buy_value"])


def test_a_stop_waits_for_its_trigger(kite):
    market = kite.account.market(kite.share.contract.instrument_id)
    trigger = str(market.upper_circuit - kite.share.contract.tick_size * 4)
    form = kite.order_form(kite.share, order_type="SL-M", trigger_price=trigger, market_protection="-1")
    del form["price"]
    kite.data("POST", "/orders/regular", form)
    row = kite.data("GET", "/orders")[-1]
    assert (row["status"], row["trigger_price"]) == ("TRIGGER PENDING", float(trigger))


@every_case(
    ("changes", "error_type"),
    [
        ({"quantity": "0"}, "InputException"),
        ({"quantity": "-1"}, "InputException"),
        ({"quantity": ""}, "InputException"),
        ({"quantity": "1.5"}, "InputException"),
        ({"price": "abc"}, "InputException"),
        ({"price": "NaN"}, "InputException"),
        ({"transaction_type": "HOLD"}, "InputException"),
        ({"product": "MTF"}, "InputException"),
        ({"order_type": "ICEBERG"}, "InputException"),
        ({"validity": "TTL"}, "InputException"),
        ({"tag": "not-alnum"}, "InputException"),
        ({"tag": "x" * 21}, "InputException"),
        ({"tradingsymbol": "NOSUCH"}, "InputException"),
        ({"exchange": "NFO"}, "InputException"),
        ({"price": "100.01"}, "InputException"),
    ],
)
def test_a_bad_order_is_refused_before_it_has_an_id(kite, changes, error_type):
    before = len(kite.data("GET", "/orders"))
    status, body = kite.call("POST", "/orders/regular", kite.order_form(kite.share, **changes))
    assert (status, body["error_type"]) == (400, error_type)
    assert body["message"]
    assert len(kite.data("GET", "/orders")) == before


def test_an_order_the_exchange_refuses_has_an_id_and_is_rejected_in_the_book(kite):
    form = kite.order_form(kite.share, quantity="99999999")
    order_id = kite.data("POST", "/orders/regular", form)["order_id"]
    row = kite.data("GET", "/orders")[-1]
    assert (row["order_id"], row["status"], row["filled_quantity"]) == (order_id, "REJECTED", 0)
    assert row["status_message"]


def test_an_index_cannot_be_ordered_and_a_variety_must_be_known(kite):
    index = kite.listed(lambda each: each.is_index)
    assert kite.call("POST", "/orders/regular", kite.order_form(index))[1]["error_type"] == "InputException"
    assert kite.call("POST", "/orders/iceberg", kite.order_form(kite.share))[1]["error_type"] == "InputException"


# account and market data ----------------------------------------------------------------------------------------------
def test_holdings_show_free_t1_and_pledged_units_apart(kite):
    rows = {row["tradingsymbol"]: row for row in kite.data("GET", "/portfolio/holdings")}
    held = kite.account.holdings()
    assert len(rows) == len(held) == 8
    for each in held:
        row = rows[str(kite.account.contract(each.instrument_id).identity.symbol)]
        assert (row["quantity"], row["t1_quantity"], row["collateral_quantity"]) == (
            each.settled_quantity, each.t1_quantity, each.collateral_quantity,
        )  # fmt: skip
        assert row["isin"].startswith("INE")
    assert any(row["t1_quantity"] for row in rows.values())
    assert any(row["collateral_quantity"] for row in rows.values())


def test_a_carried_position_shows_its_overnight_leg(kite):
    carried = [row for row in kite.data("GET", "/portfolio/positions")["net"] if row["overnight_quantity"]]
    assert len(carried) == 2
    assert any(row["quantity"] < 0 for row in carried)
    assert all(row["average_price"] > 0 and row["close_price"] > 0 for row in carried)


def test_the_purses_balance(kite):
    margins = kite.data("GET", "/user/margins")
    assert set(margins) == {"equity", "commodity"}
    for purse in margins.values():
        available, used = purse["available"], purse["utilised"]
        assert purse["net"] == pytest.approx(available["cash"] + available["collateral"] - used["debits"])
    assert margins["equity"]["net"] > 9_000_000
    assert kite.data("GET", "/user/margins/commodity") == margins["commodity"]
    assert kite.call("GET", "/user/margins/gold")[1]["error_type"] == "InputException"
