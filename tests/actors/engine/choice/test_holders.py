"""One account, not one broker: what a broker can deliver, who is skipped, and what an order opens beside other brokers' units
(order-engine 4.1)."""

import attrs
import pytest

from onebroker.actors.engine.choice.choose import choose, none_left
from onebroker.actors.engine.choice.leg_order import LegOrder
from onebroker.actors.sessions.session_view import LoginState
from onebroker.brokers.records import HoldingRow, OrderRow
from tests.actors.engine.choice.test_choosing import Market, codes, position, reasons, room

BROKERS = ("kotakneo", "upstox", "zerodha")


def holding(code, settled, t1=0, *, isin="INE1", token=None):
    return HoldingRow(
        instrument_token=token or f"{code} token", tradingsymbol="A", exchange="NSE", isin=isin, settled_quantity=settled,
        t1_quantity=t1,
    )  # fmt: skip


def row(code, side, quantity, filled=0, *, status="OPEN", product="CNC", order_id="o"):
    return OrderRow(
        order_id=order_id, status=status, transaction_type=side, product=product, order_type="LIMIT", validity="DAY",
        instrument_token=f"{code} token", tradingsymbol="A", exchange="NSE", quantity=quantity, filled_quantity=filled,
    )  # fmt: skip


def market(*brokers, **held):
    """Brokers whose holdings and positions were read; `held`: settled units of the share at each."""
    codes_ = brokers or BROKERS
    made = Market(*codes_)
    for code in codes_:
        rows = (holding(code, held[code]),) if code in held else ()
        made.show(code, holdings=rows, holdings_read_started=5.0, positions_read_started=5.0)
    return made


def sells(market, quantity=20, **more):
    return market.choose(transaction_type="SELL", product="CNC", quantity=quantity, **more)


# --- delivery ---------------------------------------------------------------------------------------------------------------


def test_a_delivery_sale_goes_to_the_broker_that_can_deliver_all_and_the_others_are_skipped_with_the_reason():
    choice = sells(market(upstox=20, zerodha=10))
    assert codes(choice) == ["upstox"]
    assert reasons(choice) == {"kotakneo": "holds no units to deliver", "zerodha": "can deliver 10 of the 20 units"}


def test_when_none_can_deliver_the_whole_it_is_refused_with_the_holders_and_the_way_out():
    assert market(upstox=10, zerodha=10).refused(transaction_type="SELL", product="CNC", quantity=20) == (
        409,
        (
            "no broker can deliver 20 units: upstox can deliver 10, zerodha can deliver 10; "
            "place a sale for each of them, with its broker and its units"
        ),
    )


def test_the_refusal_lists_the_holders():
    choice = sells(market(upstox=10, zerodha=10))
    body = none_left(choice, choice.skipped).body
    assert body["holders"] == [{"broker": "upstox", "quantity": 10}, {"broker": "zerodha", "quantity": 10}]
    assert [skip["broker"] for skip in body["skipped"]] == list(BROKERS)


def test_when_nobody_holds_any_it_says_so():
    assert market().refused(transaction_type="SELL", product="CNC", quantity=20) == (
        409,
        "no broker can deliver 20 units: no broker holds any",
    )


def test_a_sale_that_names_a_broker_without_the_shares_is_refused_and_told_where_they_are():
    sale = {"transaction_type": "SELL", "product": "CNC", "quantity": 20, "broker": "zerodha"}
    assert market(upstox=20, zerodha=5).refused(**sale) == (
        409,
        "zerodha cannot take this order: can deliver 5 of the 20 units; upstox can deliver 20",
    )
    assert market().refused(**sale) == (409, "zerodha cannot take this order: holds no units to deliver")


def test_t1_units_and_holdings_found_by_isin_count():
    shown = market()
    shown.show("zerodha", holdings=(holding("zerodha", 5, 15, token="bse token"),))
    assert codes(sells(shown)) == ["zerodha"]


@pytest.mark.parametrize(("net", "able"), [(10, True), (9, False), (0, False), (-5, False)])
def test_todays_trades_are_added(net, able):
    shown = market(zerodha=10).show("zerodha", positions=(position("zerodha", net, product="CNC"),))
    assert (codes(sells(shown)) == ["zerodha"]) is able


def test_an_intraday_position_is_not_deliverable():
    shown = market(zerodha=10).show("zerodha", positions=(position("zerodha", 10),))
    assert codes(sells(shown)) == []


def test_units_of_open_sales_are_not_deliverable_twice_but_those_of_an_alternative_are():
    shown = market(zerodha=25).show("zerodha", orders={"o": row("zerodha", "SELL", 20, filled=5)})
    assert codes(sells(shown, quantity=6)) == []
    assert codes(sells(shown, quantity=5)) == ["zerodha"]
    assert codes(sells(shown, quantity=20, alternatives=lambda: frozenset({"o"}))) == ["zerodha"]


def test_right_after_a_fill_the_order_book_counts_and_not_the_positions_of_before():
    bought = {"o": row("zerodha", "BUY", 20, 20, status="COMPLETE")}
    shown = market().show("zerodha", orders=bought, fills_moved_at=9.9)
    assert codes(sells(shown)) == ["zerodha"]
    sold = {"o": row("zerodha", "SELL", 20, 20, status="COMPLETE")}
    shown = market(zerodha=20).show("zerodha", orders=sold, fills_moved_at=9.9)
    assert codes(sells(shown)) == []


def test_a_broker_whose_holdings_cannot_be_read_is_passed_over_while_a_holder_is_known():
    shown = market(upstox=20).show("zerodha", read_errors={"holdings": "down"})
    choice = sells(shown)
    assert codes(choice) == ["upstox"]
    assert reasons(choice)["zerodha"] == "its holdings cannot be read, so it is not known what it can deliver"


def test_while_holdings_are_not_known_the_refusal_says_so_and_passes():
    shown = market(upstox=10).show("zerodha", read_errors={"holdings": "down"}, holdings=(holding("zerodha", 20),))
    status, sentence = shown.refused(transaction_type="SELL", product="CNC", quantity=20)
    assert status == 503
    assert "the holdings of zerodha cannot be read" in sentence


def test_a_sale_that_names_a_broker_whose_holdings_cannot_be_read_goes_there():
    shown = market().show("zerodha", read_errors={"holdings": "down"})
    assert codes(sells(shown, broker="zerodha")) == ["zerodha"]


def test_a_pinned_close_and_a_plans_own_units_need_no_rows():
    assert codes(sells(market(), broker="zerodha", closes=True)) == ["zerodha"]
    own = {"exit": True, "own_units": lambda code, _: 20 if code == "upstox" else 0}
    assert codes(sells(market(), **own)) == ["upstox"]


def test_a_holder_without_login_makes_the_refusal_temporary():
    shown = market(zerodha=20).show("zerodha", login=LoginState.NEEDED)
    status, sentence = shown.refused(transaction_type="SELL", product="CNC", quantity=20)
    assert (status, "zerodha can deliver 20" in sentence) == (503, True)


def test_what_stops_the_only_holder_is_said_as_for_any_order():
    full = room(order_messages_today=1000, daily_cap=1000)
    status, sentence = (
        market(zerodha=20).show("zerodha", room=full).refused(transaction_type="SELL", product="CNC", quantity=20)
    )
    assert (status, sentence.split()[0]) == (429, "zerodha")


def test_a_purchase_and_an_intraday_sale_ask_for_no_holdings():
    assert len(codes(market().choose(product="CNC"))) == 3
    assert len(codes(market().choose(transaction_type="SELL"))) == 3


# --- positions beside other brokers' units --------------------------------------------------------------------------------


def holds(**units):
    shown = market()
    for code, quantity in units.items():
        shown.show(code, positions=(position(code, quantity),))
    return shown


def warned(choice, place=0):
    return choice.warnings(choice.candidates[place].broker.code)


def test_holders_of_a_part_come_first_the_largest_part_before_the_others():
    choice = holds(upstox=5, zerodha=10).choose(transaction_type="SELL", quantity=20)
    assert codes(choice) == ["zerodha", "upstox", "kotakneo"]
    assert warned(choice) == ("upstox holds 5; this opens a new short of 10 at zerodha",)
    assert warned(choice, 2) == ("upstox and zerodha hold 15; this opens a new short of 20 at kotakneo",)


def test_a_purchase_beside_a_short_is_the_same():
    choice = holds(upstox=-5, zerodha=-10).choose(quantity=20)
    assert codes(choice) == ["zerodha", "upstox", "kotakneo"]
    assert warned(choice) == ("upstox is short 5; this opens a new long of 10 at zerodha",)
    assert warned(choice, 2) == ("upstox and zerodha are short 15; this opens a new long of 20 at kotakneo",)


def test_a_sale_that_names_a_broker_is_warned_of_the_others_too():
    choice = holds(upstox=20).choose(transaction_type="SELL", quantity=20, broker="kotakneo", closes=True)
    assert warned(choice) == ("upstox holds 20; this opens a new short of 20 at kotakneo",)


@pytest.mark.parametrize(
    ("units", "changes"),
    [
        ({"upstox": 20}, {"transaction_type": "SELL"}),  # the holder gets it
        ({"upstox": 20}, {}),  # the same side: it adds
        ({}, {"transaction_type": "SELL"}),
        ({"upstox": 20}, {"transaction_type": "SELL", "exit": True, "closes": True, "broker": "zerodha"}),
        ({"upstox": 20}, {"transaction_type": "SELL", "product": "NRML"}),
    ],
)
def test_where_nothing_is_opened_beside_other_units_nothing_is_said(units, changes):
    assert warned(holds(**units).choose(**{"quantity": 20, **changes})) == ()


def test_units_at_the_other_exchange_count_once_for_delivery():
    shown = market(zerodha=20)
    order = LegOrder(
        instrument=attrs.evolve(shown.instrument(), isin=None), transaction_type="SELL", product="CNC", order_type="MARKET",
        quantity=20,
    )  # fmt: skip
    assert codes(choose(order, shown.context())) == ["zerodha"]
