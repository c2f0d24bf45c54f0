"""The order book (rules 2.2.2, 2.2.4, 2.3.1)."""

import json
from fractions import Fraction
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.portfolio.book_assembler import BookAssembler
from onebroker.actors.portfolio.order_book import OrderBookAssembler
from onebroker.actors.portfolio.order_owners import LegOwner
from onebroker.brokers.records import OrderRow
from onebroker.config.instruments import security
from onebroker.config.vocabulary import is_finished

OWNER = LegOwner(parent_id="p", leg_id="l", synthetic_type="plan", intent_id="i", leg_role="root", tag="mine")


def document(world: SimpleNamespace, assembler: BookAssembler, *slices: object) -> dict[str, object]:
    content = world.finish(assembler.assemble(world.by_broker(*slices)))
    return json.loads(b"{" + content.fields + b"}")


def fresh(world: SimpleNamespace, snapshot: object = None, legs: object = None) -> BookAssembler:
    return OrderBookAssembler(world.catalogue(snapshot), legs or world.Legs())


def test_the_document_by_hand(world: SimpleNamespace) -> None:
    snapshot, legs = world.Snapshot(), world.Legs()
    infy = security("nse", "equities", "INFY")
    snapshot.add(infy, tokens={"zerodha": "408065"})
    legs.own("zerodha", "2", OWNER)
    one = world.order(
        "2", exchange_order_id="11", parent_order_id="9", status="COMPLETE", status_message="done",
        instrument_token="408065", quantity=10, filled_quantity=10, disclosed_quantity=1, price=100.05,
        trigger_price=99.5, average_price=100.015, order_timestamp="2026-11-18T10:00:01+05:30",
        exchange_timestamp="2026-11-18T10:00:02+05:30", tag="ob1234567890ab",
    )  # fmt: skip
    two = world.order("1", order_timestamp="2026-11-18T10:00:01+05:30", tag="own", pending_quantity=10)
    three = world.order("3", status="AFTER MARKET ORDER REQ RECEIVED", order_timestamp="2026-11-18T09:00:00+05:30")
    other = world.order("0", order_timestamp="2026-11-18T08:00:00+05:30")
    shown = document(
        world, fresh(world, snapshot, legs),
        world.slice_of("zerodha", "orders", one, two, three), world.slice_of("dhan", "orders", other),
    )  # fmt: skip
    assert [(row["broker"], row["order_id"]) for row in shown["orders"]] == [
        ("dhan", "0"), ("zerodha", "3"), ("zerodha", "1"), ("zerodha", "2"),
    ]  # fmt: skip
    assert shown["orders"][3] == {
        "broker": "zerodha", "order_id": "2", "exchange_order_id": "11", "parent_order_id": "9", "status": "COMPLETE",
        "status_message": "done", "id": "408065", "instrument_token": "408065", "tradingsymbol": "INFY",
        "exchange": "NSE", "transaction_type": "BUY", "product": "CNC", "order_type": "LIMIT", "validity": "DAY",
        "quantity": 10, "filled_quantity": 10, "pending_quantity": 0, "cancelled_quantity": 0, "disclosed_quantity": 1,
        "price": 100.05, "trigger_price": 99.5, "average_price": 100.015,
        "order_timestamp": "2026-11-18T10:00:01+05:30", "exchange_timestamp": "2026-11-18T10:00:02+05:30",
        "tag": "mine", "instrument_id": infy.instrument_id, "engine_parent_id": "p", "synthetic_type": "plan",
        "intent_id": "i", "leg_role": "root",
    }  # fmt: skip
    assert list(shown["orders"][0]) == [
        "broker", "order_id", "exchange_order_id", "parent_order_id", "status", "status_message", "id",
        "instrument_token", "tradingsymbol", "exchange", "transaction_type", "product", "order_type", "validity",
        "quantity", "filled_quantity", "pending_quantity", "cancelled_quantity", "disclosed_quantity", "price",
        "trigger_price", "average_price", "order_timestamp", "exchange_timestamp", "tag", "instrument_id",
        "engine_parent_id", "synthetic_type", "intent_id", "leg_role",
    ]  # fmt: skip
    elsewhere = shown["orders"][2]
    assert elsewhere["tag"] == "own"
    assert {elsewhere[name] for name in ("engine_parent_id", "synthetic_type", "intent_id", "leg_role")} == {None}
    assert shown["summary"] == {
        "count": 4, "by_status": {"OPEN": 2, "COMPLETE": 1, "AFTER MARKET ORDER REQ RECEIVED": 1}, "filled_value": 1000.15,
    }  # fmt: skip
    assert list(shown["summary"]["by_status"]) == ["OPEN", "COMPLETE", "AFTER MARKET ORDER REQ RECEIVED"]


def test_a_caller_without_a_tag_sees_none_instead_of_the_engines_token(world: SimpleNamespace) -> None:
    legs = world.Legs()
    legs.own(
        "a", "1", LegOwner(parent_id="p", leg_id="l", synthetic_type="s", intent_id="i", leg_role="entry", tag=None)
    )
    (row,) = document(world, fresh(world, None, legs), world.slice_of("a", "orders", world.order("1", tag="ob1")))[
        "orders"
    ]
    assert row["tag"] is None


def test_a_leg_that_becomes_known_later_shows_without_a_new_read(world: SimpleNamespace) -> None:
    legs = world.Legs()
    assembler = fresh(world, None, legs)
    held = world.slice_of("a", "orders", world.order("1"))
    assert document(world, assembler, held)["orders"][0]["engine_parent_id"] is None
    legs.own("a", "1", OWNER)
    assert document(world, assembler, held)["orders"][0]["engine_parent_id"] == "p"


def test_a_finished_order_stays_finished_whatever_is_told_of_it_later(world: SimpleNamespace) -> None:
    assembler = fresh(world)
    document(world, assembler, world.slice_of("a", "orders", world.order("1", status="COMPLETE", filled_quantity=10)))
    for word in ("OPEN", "CANCELLED"):
        again = world.slice_of("a", "orders", world.order("1", status=word))
        (row,) = document(world, assembler, again)["orders"]
        assert (row["status"], row["filled_quantity"]) == ("COMPLETE", 10)


def test_late_figures_of_a_finished_order_are_taken(world: SimpleNamespace) -> None:
    assembler = fresh(world)
    document(world, assembler, world.slice_of("a", "orders", world.order("1", status="COMPLETE")))
    late = world.slice_of("a", "orders", world.order("1", status="COMPLETE", average_price=99.5))
    assert document(world, assembler, late)["orders"][0]["average_price"] == 99.5


def test_what_had_finished_stays_finished_over_an_unreadable_answer(world: SimpleNamespace) -> None:
    assembler = fresh(world)
    document(world, assembler, world.slice_of("a", "orders", world.order("1", status="REJECTED")))
    assert document(world, assembler)["orders"] == []
    (row,) = document(world, assembler, world.slice_of("a", "orders", world.order("1")))["orders"]
    assert row["status"] == "REJECTED"


def test_an_order_id_used_again_on_another_day_is_another_order(world: SimpleNamespace) -> None:
    assembler = fresh(world)
    document(world, assembler, world.slice_of("a", "orders", world.order("1", status="COMPLETE")))
    (row,) = document(world, assembler, world.slice_of("a", "orders", world.order("1"), age=-86_400))["orders"]
    assert row["status"] == "OPEN"


statuses = st.sampled_from(["PENDING", "OPEN", "COMPLETE", "CANCELLED", "ODD"])
order_rows = st.builds(
    OrderRow, order_id=st.sampled_from("12345"), status=statuses, transaction_type=st.just("BUY"), product=st.just("CNC"),
    order_type=st.just("LIMIT"), validity=st.just("DAY"), instrument_token=st.just("T"), tradingsymbol=st.just("X"),
    exchange=st.just("NSE"), quantity=st.integers(1, 100), filled_quantity=st.integers(0, 100),
    average_price=st.integers(0, 10**7).map(lambda price: price / 1000),
    order_timestamp=st.one_of(st.none(), st.sampled_from(["2026-11-18T10:00:00+05:30", "2026-11-18T09:00:00+05:30"])),
)  # fmt: skip
order_books = st.dictionaries(
    st.sampled_from("abc"), st.lists(order_rows, max_size=5, unique_by=lambda row: row.order_id), max_size=3
)


@given(order_books)
def test_the_summary_counts_every_order_once_and_sums_to_the_paisa(
    world: SimpleNamespace, books: dict[str, list[OrderRow]]
) -> None:
    slices = [world.slice_of(broker, "orders", *rows) for broker, rows in books.items()]
    shown = document(world, fresh(world), *slices)
    every = [row for rows in books.values() for row in rows]
    assert shown["summary"]["count"] == len(shown["orders"]) == len(every)
    assert sum(shown["summary"]["by_status"].values()) == len(every)
    value = sum(Fraction(str(row.average_price)) * row.filled_quantity for row in every)
    assert abs(Fraction(str(shown["summary"]["filled_value"])) - value) <= Fraction(1, 200)  # rounded once, at the end
    keys = [(row["broker"], row["order_timestamp"] or "", row["order_id"]) for row in shown["orders"]]
    assert keys == sorted(keys)
    turned = [world.slice_of(broker, "orders", *reversed(rows)) for broker, rows in reversed(books.items())]
    assert document(world, fresh(world), *turned) == shown


@given(st.lists(statuses, min_size=1))
def test_no_sequence_of_reads_takes_an_order_out_of_a_final_status(world: SimpleNamespace, words: list[str]) -> None:
    assembler, final = fresh(world), None
    for word in words:
        (row,) = document(world, assembler, world.slice_of("a", "orders", world.order("1", status=word)))["orders"]
        final = final or (row["status"] if is_finished(row["status"]) else None)
        assert row["status"] == (final or word)
