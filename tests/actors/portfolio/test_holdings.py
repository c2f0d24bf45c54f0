"""The holdings document (rules 1.2.5, architecture 7)."""

import json
from types import SimpleNamespace

import polars as pl
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.history.interface import CANDLE_SCHEMA, MICROSECONDS, HistoryError
from onebroker.actors.history.memory import MemoryHistory
from onebroker.actors.portfolio.assembler import finish
from onebroker.actors.portfolio.day_closes import AGAIN_SECONDS, StoredDayCloses
from onebroker.actors.portfolio.holding_groups import Held, held_row, join
from onebroker.actors.portfolio.holdings import HoldingsAssembler
from onebroker.brokers.records import HoldingRow
from onebroker.config.clock import Clock, from_epoch
from onebroker.config.instruments import Exchange, Identity, Shape, security
from onebroker.config.money import paise, value_paise

INFY_NSE = security("nse", "equities", "INFY")
INFY_BSE = security("bse", "equities", "INFY")
ISIN = "INE009A01021"


def document(world: SimpleNamespace, assembler: HoldingsAssembler, *slices: object) -> dict[str, object]:
    content = world.finish(assembler.assemble(world.by_broker(*slices)))
    return json.loads(b"{" + content.fields + b"}")


@pytest.fixture
def snapshot(world: SimpleNamespace) -> object:
    held = world.Snapshot()
    held.add(INFY_NSE, isin=ISIN, tokens={"zerodha": "408065", "upstox": "NSE_EQ|" + ISIN})
    held.add(INFY_BSE, isin=ISIN, tokens={"dhan": "500209"})
    return held


def test_the_document_by_hand(world: SimpleNamespace, snapshot: object) -> None:
    quotes = world.Quotes()
    quotes.prices[INFY_NSE.instrument_id] = 1500.0
    one = world.holding(
        ISIN, instrument_token="408065", settled_quantity=10, t1_quantity=5, margin_quantity=2, collateral_quantity=4,
        average_price=1400.123, margin_average_price=1450.0, last_price=1490.0, close_price=1480.0,
    )  # fmt: skip
    two = world.holding(
        None, instrument_token="500209", exchange="BSE", settled_quantity=3, average_price=1300.0, last_price=1489.0,
    )  # fmt: skip
    alone = world.holding(None, instrument_token="X", tradingsymbol="ABC", exchange="NSE_EQ", average_price=2.0)
    shown = document(
        world, HoldingsAssembler(world.catalogue(snapshot), quotes),
        world.slice_of("zerodha", "holdings", one), world.slice_of("dhan", "holdings", two, alone),
    )  # fmt: skip
    assert shown == {
        "holdings": [
            {
                "instrument_id": None, "isin": None, "symbol": "ABC", "exchange": "nse", "segment": None, "quantity": 10,
                "average_price": 2.0, "invested_value": 20.0, "last_price": None, "current_value": None,
                "pnl": {"unrealized": None, "day_change": None, "day_change_percentage": None},
                "collateral_quantity": 0,
            },
            {
                "instrument_id": INFY_NSE.instrument_id, "isin": ISIN, "symbol": "INFY", "exchange": "nse",
                "segment": "nse_equities", "quantity": 20,
                # 15 x 1400.123 + 2 x 1450 + 3 x 1300 = 21001.845 + 2900 + 3900, each to the paisa
                "average_price": 1390.09, "invested_value": 27801.85, "last_price": 1500.0, "current_value": 30000.0,
                "pnl": {"unrealized": 2198.15, "day_change": 400.0, "day_change_percentage": 1.3514},
                "collateral_quantity": 4,
            },
        ],
        "summary": {
            "holdings_count": 2, "total_investment": 27821.85, "total_current_value": 30000.0,
            "total_unrealized_pnl": 2198.15,
        },
    }  # fmt: skip
    assert list(shown["holdings"][0]) == [
        "instrument_id", "isin", "symbol", "exchange", "segment", "quantity", "average_price", "invested_value",
        "last_price", "current_value", "pnl", "collateral_quantity",
    ]  # fmt: skip


def only_price(world: SimpleNamespace, assembler: HoldingsAssembler, *slices: object) -> float | None:
    (row,) = document(world, assembler, *slices)["holdings"]
    return row["last_price"]


def test_the_price_is_the_live_quote_then_the_last_broker_read_then_the_day_candle_then_null(
    world: SimpleNamespace, snapshot: object
) -> None:
    quotes = world.Quotes()
    closes: dict[str, float] = {}
    assembler = HoldingsAssembler(world.catalogue(snapshot), quotes, SimpleNamespace(close=closes.get))

    def held(broker: str, token: str, price: float | None, age: float) -> object:
        return world.slice_of(
            broker, "holdings", world.holding(ISIN, instrument_token=token, last_price=price), age=age
        )

    older, newer = held("zerodha", "408065", 100.0, 20), held("dhan", "500209", 101.0, 10)
    assert only_price(world, assembler, older, newer) == 101.0
    assert only_price(world, assembler, older, held("dhan", "500209", None, 10)) == 100.0
    assert only_price(world, assembler, older, held("dhan", "500209", 0.0, 10)) == 100.0
    nothing = held("zerodha", "408065", None, 0)
    assert only_price(world, assembler, nothing) is None
    closes[INFY_NSE.instrument_id] = 99.0
    assert only_price(world, assembler, nothing) == 99.0
    assert only_price(world, assembler, older, newer) == 101.0
    quotes.prices[INFY_NSE.instrument_id] = 102.0
    assert only_price(world, assembler, older, newer) == 102.0


def test_the_most_recently_read_broker_may_change_without_a_change_of_rows(
    world: SimpleNamespace, snapshot: object
) -> None:
    assembler = HoldingsAssembler(world.catalogue(snapshot), world.Quotes())
    one = (world.holding(ISIN, instrument_token="408065", last_price=100.0),)
    two = (world.holding(ISIN, instrument_token="500209", last_price=101.0),)

    def at(ages: tuple[float, float]) -> float | None:
        zerodha = world.slice_of("zerodha", "holdings", *one, age=ages[0])
        dhan = world.slice_of("dhan", "holdings", *two, age=ages[1])
        return only_price(world, assembler, zerodha, dhan)

    assert at((5, 10)) == 100.0
    assert at((5, 1)) == 101.0


def test_currency_prices_keep_four_decimals(world: SimpleNamespace) -> None:
    snapshot = world.Snapshot()
    identity = Identity(Exchange.NSE, "nse_currencies", Shape.SECURITY, symbol="USDINR")
    snapshot.add(identity, tokens={"a": "T1"})
    row = world.holding(average_price=83.12345, last_price=83.54321, settled_quantity=1000)
    (shown,) = document(
        world, HoldingsAssembler(world.catalogue(snapshot), world.Quotes()), world.slice_of("a", "holdings", row)
    )["holdings"]
    assert (shown["average_price"], shown["last_price"]) == (83.1235, 83.5432)


def test_an_unknown_cost_is_null_and_never_zero(world: SimpleNamespace) -> None:
    known = world.holding(None, instrument_token="K", tradingsymbol="K", average_price=10.0, last_price=11.0)
    unknown = world.holding(None, instrument_token="U", tradingsymbol="U", average_price=None, last_price=11.0)
    shown = document(
        world, HoldingsAssembler(world.catalogue(), world.Quotes()), world.slice_of("a", "holdings", known, unknown)
    )
    row = shown["holdings"][1]
    assert (row["average_price"], row["invested_value"], row["pnl"]["unrealized"]) == (None, None, None)
    assert row["current_value"] == 110.0
    assert shown["summary"] == {
        "holdings_count": 2, "total_investment": 100.0, "total_current_value": 220.0, "total_unrealized_pnl": 10.0,
    }  # fmt: skip


def test_a_holding_of_no_units_has_no_row(world: SimpleNamespace) -> None:
    sold = world.holding(ISIN, settled_quantity=0, average_price=10.0)
    shown = document(world, HoldingsAssembler(world.catalogue(), world.Quotes()), world.slice_of("a", "holdings", sold))
    assert shown["holdings"] == []


def test_rows_are_sorted_by_symbol(world: SimpleNamespace) -> None:
    rows = [world.holding(None, instrument_token=name, tradingsymbol=name) for name in ("C", "A", "B")]
    shown = document(
        world, HoldingsAssembler(world.catalogue(), world.Quotes()), world.slice_of("a", "holdings", *rows)
    )
    assert [row["symbol"] for row in shown["holdings"]] == ["A", "B", "C"]


def test_rows_of_one_symbol_keep_their_order_however_the_broker_lists_them(world: SimpleNamespace) -> None:
    assembler = HoldingsAssembler(world.catalogue(), world.Quotes())
    rows = (world.holding(None), world.holding("I1"))
    one = document(world, assembler, world.slice_of("a", "holdings", *rows))
    other = world.slice_of("a", "holdings", *reversed(rows))
    assert (
        document(world, assembler, other)
        == one
        == document(world, HoldingsAssembler(world.catalogue(), world.Quotes()), other)
    )


def held(broker: str, isin: str | None, instrument_id: str | None, token: str = "T") -> Held:
    row = HoldingRow(instrument_token=token, tradingsymbol="X", exchange="NSE", isin=isin, settled_quantity=1)
    return held_row(broker, row, instrument_id, isin)


def test_rows_join_by_isin_or_by_instrument_also_by_way_of_a_third() -> None:
    one, two, three = held("a", "I1", "x"), held("b", None, "x"), held("c", "I1", "y")
    other = held("d", "I2", "z")
    assert finish(join([three, other, two, one])) == [(one, two, three), (other,)]


def test_rows_that_nobody_can_name_join_within_their_broker_only() -> None:
    assert len(finish(join([held("a", None, None), held("b", None, None), held("a", None, None)]))) == 2


names = st.one_of(st.none(), st.sampled_from(["1", "2", "3"]))
members = st.lists(st.tuples(st.sampled_from("abc"), names, names, st.sampled_from("TUV")), max_size=10)


@given(members, st.randoms())
def test_a_join_is_a_partition_by_shared_names_in_any_order(given_rows: list[tuple], random: object) -> None:
    rows = [held(*one) for one in given_rows]
    groups = finish(join(rows))
    assert sorted(map(repr, rows)) == sorted(repr(one) for group in groups for one in group)
    names_of = [{key for one in group for key in one.keys} for group in groups]
    assert all(not (one & other) for index, one in enumerate(names_of) for other in names_of[:index])
    for group in groups:  # connected: from the first row every other is reached over shared names
        reached, rest = set(group[0].keys), list(group)
        while near := [one for one in rest if set(one.keys) & reached]:
            rest = [one for one in rest if one not in near]
            reached |= {key for one in near for key in one.keys}
        assert not rest
    random.shuffle(rows)
    assert sorted(finish(join(rows)), key=repr) == sorted(groups, key=repr)


prices = st.one_of(st.none(), st.integers(1, 10**7).map(lambda price: price / 1000))
holding_rows = st.builds(
    HoldingRow, instrument_token=st.sampled_from(["1", "2", "3"]), tradingsymbol=st.just("X"), exchange=st.just("NSE"),
    isin=st.one_of(st.none(), st.sampled_from(["I1", "I2"])), settled_quantity=st.integers(0, 1000),
    t1_quantity=st.integers(0, 100), margin_quantity=st.integers(0, 100), collateral_quantity=st.integers(0, 100),
    average_price=prices, margin_average_price=prices, last_price=prices, close_price=prices,
)  # fmt: skip


@given(st.dictionaries(st.sampled_from("abcd"), st.lists(holding_rows, max_size=4), max_size=4))
def test_units_and_money_are_conserved_to_the_paisa(world: SimpleNamespace, books: dict[str, list[HoldingRow]]) -> None:
    slices = [world.slice_of(broker, "holdings", *rows) for broker, rows in books.items()]
    assembler = HoldingsAssembler(world.catalogue(), world.Quotes())
    shown = document(world, assembler, *slices)
    every = [row for rows in books.values() for row in rows]

    def quantity(row: HoldingRow) -> int:
        return row.settled_quantity + row.t1_quantity + row.margin_quantity

    assert sum(row["quantity"] for row in shown["holdings"]) == sum(map(quantity, every))
    for row in shown["holdings"]:
        if row["invested_value"] is not None:
            assert abs(row["average_price"] - row["invested_value"] / row["quantity"]) <= 0.005 + 1e-9
        if row["last_price"] is not None:
            assert paise(row["current_value"]) == value_paise(row["quantity"], row["last_price"])
    if all(row.average_price is not None for row in every):
        cost = sum(
            value_paise(row.settled_quantity + row.t1_quantity, row.average_price)
            + value_paise(row.margin_quantity, row.margin_average_price or row.average_price)
            for row in every
        )
        assert paise(shown["summary"]["total_investment"]) == cost
    assert document(world, assembler, *reversed(slices)) == shown


async def put_closes(history, tmp_path, instrument_id, closes, now):
    """Store day candles of the last days, the newest last."""
    times = [int(now * MICROSECONDS) - (len(closes) - place) * 86_400 * MICROSECONDS for place in range(len(closes))]
    rows = {"instrument_id": instrument_id, "minutes": 1440, "time": times, "volume": 1, "oi": None}
    rows |= dict.fromkeys(("open", "high", "low"), 1.0)
    file = tmp_path / "candles.parquet"
    pl.DataFrame({**rows, "close": closes}).select(pl.col(name).cast(kind) for name, kind in CANDLE_SCHEMA.items()).write_parquet(file)  # fmt: skip
    await history.put_candles(file)


@pytest.mark.parametrize("token", ["408065", ""])
async def test_a_holding_without_any_price_is_worth_its_last_stored_day_close(
    world, snapshot, tmp_path, token, autojump_clock
):
    """Also one that its broker names by ISIN alone."""
    clock, history = Clock.following_trio(from_epoch(world.NOW)), MemoryHistory()
    assembler = HoldingsAssembler(world.catalogue(snapshot), world.Quotes(), StoredDayCloses(history, clock))
    held = world.slice_of("zerodha", "holdings", world.holding(ISIN, instrument_token=token, average_price=90.0))

    async def row():
        await assembler.prepare(world.by_broker(held), None)
        (only,) = document(world, assembler, held)["holdings"]
        return only["last_price"], only["current_value"]

    history.fail_with(HistoryError("away"))
    assert await row() == (None, None)
    history.come_back()
    await put_closes(history, tmp_path, INFY_NSE.instrument_id, [98.0, 99.5], clock.epoch())
    assert await row() == (99.5, 995.0)
    await put_closes(history, tmp_path, INFY_NSE.instrument_id, [98.0, 99.5, 100.25], clock.epoch())
    assert await row() == (99.5, 995.0)  # what was asked is not asked again at every build
    await trio.sleep(AGAIN_SECONDS)
    assert await row() == (100.25, 1002.5)
