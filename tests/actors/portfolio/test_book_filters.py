"""Filters and paging of the books (rules 2.4.1)."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.portfolio.book_filters import BookFilter, Page, select
from onebroker.actors.portfolio.order_book import OrderBookAssembler
from onebroker.actors.portfolio.order_owners import LegOwner
from onebroker.actors.portfolio.trade_book import TradeBookAssembler
from tests.support.every_case import every_case


@pytest.fixture(scope="module")
def legs(world: SimpleNamespace) -> object:
    held = world.Legs()
    held.own(
        "a", "1", LegOwner(parent_id="p1", leg_id="l", synthetic_type="s", intent_id="i1", leg_role="root", tag=None)
    )
    held.own(
        "b", "3", LegOwner(parent_id="p1", leg_id="l", synthetic_type="s", intent_id="i2", leg_role="root", tag=None)
    )
    return held


@pytest.fixture(scope="module")
def orders(world: SimpleNamespace, legs: object) -> tuple:
    one = world.slice_of("a", "orders", world.order("1"), world.order("2", status="COMPLETE"))
    two = world.slice_of(
        "b",
        "orders",
        world.order("3", status="PENDING"),
        world.order("4", status="ODD WORD"),
        world.order("5", status="EXPIRED"),
    )
    assembler = OrderBookAssembler(world.catalogue(), legs)
    return world.finish(assembler.assemble(world.by_broker(one, two))).rows


def ids(rows: tuple, **wanted: object) -> list[str]:
    return [row.order_id for row in select(rows, BookFilter(**wanted))[0]]


@every_case(
    ("wanted", "found"),
    [
        ({}, ["1", "2", "3", "4", "5"]),
        ({"order_ids": frozenset({"2", "5", "9"})}, ["2", "5"]),
        ({"parent_id": "p1"}, ["1", "3"]),
        ({"intent_id": "i2"}, ["3"]),
        ({"broker": "a"}, ["1", "2"]),
        ({"broker": "nobody"}, []),
        ({"status": "OPEN"}, ["1", "3", "4"]),
        ({"status": "COMPLETE"}, ["2"]),
        ({"status": "PENDING"}, ["3"]),
        ({"parent_id": "p1", "broker": "b"}, ["3"]),
        ({"parent_id": "p1", "status": "COMPLETE"}, []),
    ],
)
def test_all_given_filters_must_match(orders: tuple, wanted: dict[str, object], found: list[str]) -> None:
    assert ids(orders, **wanted) == found


def test_trades_are_filtered_by_their_own_order(world: SimpleNamespace, legs: object) -> None:
    rows = (world.trade("t1", order_id="1"), world.trade("t2", order_id="2"), world.trade("t3", order_id="1"))
    assembler = TradeBookAssembler(world.catalogue(), legs)
    trades = world.finish(assembler.assemble(world.by_broker(world.slice_of("a", "trades", *rows)))).rows
    assert [row.trade_id for row in select(trades, BookFilter(parent_id="p1"))[0]] == ["t1", "t3"]
    assert [row.trade_id for row in select(trades, BookFilter(order_ids=frozenset({"2"})))[0]] == ["t2"]


def test_the_page_says_where_it_stands(orders: tuple) -> None:
    assert select(orders, BookFilter(limit=2))[1] == Page(matched=5, returned=2, cursor=0, next_cursor=2)
    assert select(orders, BookFilter(limit=2, cursor=3))[1] == Page(matched=5, returned=2, cursor=3, next_cursor=None)
    assert select(orders, BookFilter(cursor=2))[1] == Page(matched=5, returned=3, cursor=2, next_cursor=None)
    assert select(orders, BookFilter(cursor=50))[1] == Page(matched=5, returned=0, cursor=50, next_cursor=None)


@given(limit=st.integers(1, 7), status=st.sampled_from([None, "OPEN", "COMPLETE"]))
def test_pages_put_together_are_the_whole_answer(orders: tuple, limit: int, status: str | None) -> None:
    seen, cursor = [], 0
    while cursor is not None:
        rows, page = select(orders, BookFilter(status=status, limit=limit, cursor=cursor))
        seen += rows
        assert page.returned == len(rows) <= limit
        cursor = page.next_cursor
    assert seen == list(select(orders, BookFilter(status=status))[0])
