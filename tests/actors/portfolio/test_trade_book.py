"""The trade book (rules 2.2.3, 2.2.4)."""

import json
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.portfolio.book_assembler import BookAssembler
from onebroker.actors.portfolio.order_owners import LegOwner
from onebroker.actors.portfolio.trade_book import TradeBookAssembler
from onebroker.config.money import paise

OWNER = LegOwner(parent_id="p", leg_id="l", synthetic_type="plan", intent_id="i", leg_role="root", tag="mine")


def document(world: SimpleNamespace, assembler: BookAssembler, *slices: object) -> dict[str, object]:
    content = world.finish(assembler.assemble(world.by_broker(*slices)))
    return json.loads(b"{" + content.fields + b"}")


def test_the_document_by_hand(world: SimpleNamespace) -> None:
    legs = world.Legs()
    legs.own("zerodha", "77", OWNER)
    bought = world.trade(
        "2", order_id="77", quantity=3, price=33.335, exchange_order_id="11", exchange_trade_id="12",
        trade_timestamp="2026-11-18 10:00:00", exchange_timestamp="10:00:01",
    )  # fmt: skip
    sold = world.trade(
        "1", order_id="78", transaction_type="SELL", quantity=2, price=50.0, trade_timestamp="2026-11-18 09:59:00"
    )
    shown = document(
        world, TradeBookAssembler(world.catalogue(), legs),
        world.slice_of("zerodha", "trades", bought, sold), world.slice_of("dhan", "trades", world.trade("9", price=1.0)),
    )  # fmt: skip
    assert [(row["broker"], row["trade_id"]) for row in shown["trades"]] == [
        ("dhan", "9"),
        ("zerodha", "1"),
        ("zerodha", "2"),
    ]
    assert shown["trades"][2] == {
        "broker": "zerodha", "trade_id": "2", "order_id": "77", "exchange_order_id": "11", "exchange_trade_id": "12",
        "instrument_id": None, "instrument_token": "T1", "tradingsymbol": "INFY", "exchange": "NSE",
        "transaction_type": "BUY", "product": "CNC", "quantity": 3, "price": 33.335, "value": 100.01,
        "trade_timestamp": "2026-11-18 10:00:00", "exchange_timestamp": "10:00:01", "engine_parent_id": "p",
        "synthetic_type": "plan", "intent_id": "i", "leg_role": "root",
    }  # fmt: skip
    assert list(shown["trades"][0]) == [
        "broker", "trade_id", "order_id", "exchange_order_id", "exchange_trade_id", "instrument_id", "instrument_token",
        "tradingsymbol", "exchange", "transaction_type", "product", "quantity", "price", "value", "trade_timestamp",
        "exchange_timestamp", "engine_parent_id", "synthetic_type", "intent_id", "leg_role",
    ]  # fmt: skip
    assert shown["summary"] == {"count": 3, "buy_value": 110.01, "sell_value": 100.0, "total_value": 210.01}


def test_a_trade_told_twice_counts_once_but_two_fills_of_one_id_both_count(world: SimpleNamespace) -> None:
    assembler = TradeBookAssembler(world.catalogue(), world.Legs())
    rows = (world.trade("1"), world.trade("1"), world.trade("1", quantity=4), world.trade("1", order_id="2"))
    assert document(world, assembler, world.slice_of("a", "trades", *rows))["summary"]["count"] == 3


fills = st.tuples(st.integers(1, 1000), st.integers(1, 10**7), st.sampled_from(["BUY", "SELL"]))


@given(st.dictionaries(st.sampled_from("abc"), st.lists(fills, max_size=6)))
def test_the_summary_is_the_sum_of_the_values_shown(world: SimpleNamespace, books: dict[str, list[tuple]]) -> None:
    slices = [
        world.slice_of(
            broker, "trades",
            *[
                world.trade(str(number), quantity=quantity, price=price / 1000, transaction_type=side)
                for number, (quantity, price, side) in enumerate(rows)
            ],
        )
        for broker, rows in books.items()
    ]  # fmt: skip
    shown = document(world, TradeBookAssembler(world.catalogue(), world.Legs()), *slices)
    values = {
        side: sum(paise(row["value"]) for row in shown["trades"] if row["transaction_type"] == side)
        for side in ("BUY", "SELL")
    }
    assert paise(shown["summary"]["buy_value"]) == values["BUY"]
    assert paise(shown["summary"]["sell_value"]) == values["SELL"]
    assert paise(shown["summary"]["total_value"]) == values["BUY"] + values["SELL"]
    assert shown["summary"]["count"] == sum(map(len, books.values()))
