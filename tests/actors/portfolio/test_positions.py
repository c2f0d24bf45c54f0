"""The positions document (rules 1.2.5, architecture 7; lessons 11 and 13)."""

import json
from datetime import date
from types import SimpleNamespace

import attrs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.portfolio import position_groups
from onebroker.actors.portfolio.position_view import is_unpriced, position_product, total_paise
from onebroker.actors.portfolio.positions import DoubtedRow, PositionsAssembler
from onebroker.actors.portfolio.read_status import BrokerRead
from onebroker.brokers.records import PositionRow, in_contracts
from onebroker.config.instruments import future, security
from onebroker.config.money import paise
from onebroker.config.vocabulary import ReadStatus
from tests.support.every_case import every_case

INFY = security("nse", "equities", "INFY")
USDINR = future("nse", "currency_futures", "USDINR", date(2026, 11, 26))

FIELDS = [
    "instrument_id", "exchange", "segment", "shape", "symbol", "underlying_symbol", "expiry_date", "strike_price",
    "option_type", "product", "quantity", "buy_quantity", "sell_quantity", "buy_value", "sell_value", "buy_average",
    "sell_average", "average_price", "last_price", "multiplier", "overnight_quantity", "pnl", "by_broker",
]  # fmt: skip


@pytest.fixture(scope="module")
def snapshot(world: SimpleNamespace) -> object:
    held = world.Snapshot()
    held.add(INFY, tokens={"zerodha": "T1", "upstox": "T1", "dhan": "T1"})
    held.add(USDINR, tokens={"zerodha": "T2", "upstox": "T2"})
    return held


def document(world: SimpleNamespace, assembler: PositionsAssembler, *slices: object) -> dict[str, object]:
    content = world.finish(assembler.assemble(world.by_broker(*slices)))
    return json.loads(b"{" + content.fields + b"}")


def net_row(world: SimpleNamespace, snapshot: object, *slices: object) -> dict[str, object]:
    (row,) = document(world, PositionsAssembler(world.catalogue(snapshot)), *slices)["net"]
    return row


def test_the_document_by_hand(world: SimpleNamespace, snapshot: object) -> None:
    one = world.position(
        "z1", quantity=10, buy_quantity=15, sell_quantity=5, buy_value=1500.0, sell_value=510.0, average_price=100.0,
        last_price=103.0, overnight_quantity=10, realized=10.0, unrealized=30.0,
    )  # fmt: skip
    two = world.position(
        "u1", quantity=5, buy_quantity=5, sell_quantity=0, buy_value=505.05, average_price=101.01, last_price=104.0,
        unrealized=14.95, realized=0.0, overnight_quantity=0,
    )  # fmt: skip
    day = world.position("z1", view="day", quantity=0, realized=10.0, unrealized=0.0)
    unmapped = world.position("u2", instrument_token="??", tradingsymbol="ODD", product="WEIRD", quantity=-1)
    shown = document(
        world, PositionsAssembler(world.catalogue(snapshot)),
        world.slice_of("zerodha", "positions", one, day, age=3), world.slice_of("upstox", "positions", two, unmapped),
    )  # fmt: skip
    infy, odd = shown["net"]
    assert infy == {
        **INFY.fields(),
        "product": "intraday", "quantity": 15, "buy_quantity": 20, "sell_quantity": 5, "buy_value": 2005.05,
        "sell_value": 510.0, "buy_average": 100.25, "sell_average": 102.0, "average_price": 100.34, "last_price": 104.0,
        "multiplier": 1.0, "overnight_quantity": 10, "pnl": {"realized": 10.0, "unrealized": 44.95, "total": 54.95},
        "by_broker": [
            {
                "broker": "upstox", "position_key": "u1", "instrument_token": "T1", "tradingsymbol": "INFY",
                "quantity": 5, "average_price": 101.01, "pnl": {"realized": 0.0, "unrealized": 14.95, "total": 14.95},
            },
            {
                "broker": "zerodha", "position_key": "z1", "instrument_token": "T1", "tradingsymbol": "INFY",
                "quantity": 10, "average_price": 100.0, "pnl": {"realized": 10.0, "unrealized": 30.0, "total": 40.0},
            },
        ],
    }  # fmt: skip
    assert list(infy) == FIELDS
    assert list(odd) == FIELDS
    assert all(odd[name] is None for name in FIELDS[:9])
    assert (odd["product"], odd["quantity"], odd["average_price"]) == ("WEIRD", -1, None)
    assert odd["pnl"] == {"realized": None, "unrealized": None, "total": None}
    assert [row["quantity"] for row in shown["day"]] == [0]
    assert shown["summary"] == {
        "net_count": 2, "day_count": 1, "realized": 10.0, "unrealized": 44.95, "total": 54.95, "unknown_rows": 1,
    }  # fmt: skip
    assert list(shown) == ["net", "day", "summary"]


@every_case(
    ("product", "word"),
    [
        ("CNC", "delivery"), ("MIS", "intraday"), ("NRML", "carry"), ("CO", "cover"), ("BO", "bracket"),
        ("MTF", "margin_trading"), ("ARB", "ARB"), ("odd", "ODD"),
    ],
)  # fmt: skip
def test_products_have_their_position_words(product: str, word: str) -> None:
    assert position_product(product) == word


def test_a_missing_average_is_null_and_never_the_last_price(world: SimpleNamespace, snapshot: object) -> None:
    carried = world.position(quantity=10, overnight_quantity=10, average_price=None, last_price=104.0)
    row = net_row(world, snapshot, world.slice_of("zerodha", "positions", carried))
    assert (row["average_price"], row["last_price"], row["pnl"]["unrealized"]) == (None, 104.0, None)
    stand_in = world.position(quantity=10, average_price=0.0, last_price=104.0)
    assert net_row(world, snapshot, world.slice_of("zerodha", "positions", stand_in))["average_price"] is None


def test_one_broker_without_an_average_makes_the_merged_average_null(world: SimpleNamespace, snapshot: object) -> None:
    known = world.slice_of("zerodha", "positions", world.position(quantity=10, average_price=100.0))
    unknown = world.slice_of("upstox", "positions", world.position(quantity=10))
    row = net_row(world, snapshot, known, unknown)
    assert row["average_price"] is None
    assert [one["average_price"] for one in row["by_broker"]] == [None, 100.0]


def test_brokers_on_opposite_sides_have_no_common_average(world: SimpleNamespace, snapshot: object) -> None:
    long = world.slice_of("zerodha", "positions", world.position(quantity=10, average_price=100.0))
    short = world.slice_of("upstox", "positions", world.position(quantity=-4, average_price=110.0))
    row = net_row(world, snapshot, long, short)
    assert (row["quantity"], row["average_price"]) == (6, None)


def test_a_closed_row_stays_with_quantity_zero_and_no_average(world: SimpleNamespace, snapshot: object) -> None:
    closed = world.position(quantity=0, average_price=99.0, buy_quantity=5, sell_quantity=5, realized=7.0)
    row = net_row(world, snapshot, world.slice_of("zerodha", "positions", closed))
    assert (row["quantity"], row["average_price"]) == (0, None)
    assert row["pnl"] == {"realized": 7.0, "unrealized": 0.0, "total": 7.0}


def test_unrealized_is_worked_out_only_when_the_broker_gives_none(world: SimpleNamespace, snapshot: object) -> None:
    row = world.position(quantity=-10, average_price=100.0, last_price=98.5, realized=0.0)
    shown = net_row(world, snapshot, world.slice_of("zerodha", "positions", row))
    assert shown["pnl"] == {"realized": 0.0, "unrealized": 15.0, "total": 15.0}


def test_figures_that_a_broker_does_not_tell_are_null_in_the_merged_row(
    world: SimpleNamespace, snapshot: object
) -> None:
    told = world.position(
        "z1", quantity=19, buy_quantity=19, sell_quantity=0, overnight_quantity=0, average_price=100.0
    )
    untold = world.position("u1", quantity=6, average_price=100.0)
    one, two = world.slice_of("zerodha", "positions", told), world.slice_of("upstox", "positions", untold)
    row = net_row(world, snapshot, one, two)
    assert (row["quantity"], row["average_price"]) == (25, 100.0)
    assert [row[name] for name in ("buy_quantity", "sell_quantity", "overnight_quantity", "buy_value")] == [None] * 4


def test_a_row_without_a_last_price_is_priced_by_the_live_quote(world: SimpleNamespace, snapshot: object) -> None:
    quotes = world.Quotes()
    assembler = PositionsAssembler(world.catalogue(snapshot), quotes)
    row = world.position(quantity=-10, average_price=100.0, realized=5.0)
    slices = world.slice_of("zerodha", "positions", row)
    unmapped = world.slice_of(
        "upstox", "positions", world.position("x", instrument_token="??", average_price=1.0, realized=0.0)
    )
    for price, total in ((None, None), (98.0, 25.0), (101.0, -5.0), (None, None)):
        quotes.prices = {} if price is None else {INFY.instrument_id: price}
        shown = document(world, assembler, slices, unmapped)
        row_now = next(one for one in shown["net"] if one["symbol"] == "INFY")
        assert (row_now["last_price"], row_now["pnl"]["total"]) == (price, total)
        assert row_now["by_broker"][0]["pnl"]["total"] == total
        assert shown["summary"]["unknown_rows"] == (2 if total is None else 1)
        assert shown["summary"]["total"] == (total or 0.0), "what is not known is in no total"
        assert shown == document(world, PositionsAssembler(world.catalogue(snapshot), quotes), slices, unmapped)


def test_a_last_price_that_a_broker_reports_goes_before_the_live_one(world: SimpleNamespace, snapshot: object) -> None:
    quotes = world.Quotes()
    quotes.prices = {INFY.instrument_id: 120.0}
    told = world.slice_of("zerodha", "positions", world.position(last_price=103.0, average_price=100.0), age=9)
    untold = world.slice_of("upstox", "positions", world.position(average_price=100.0))
    (row,) = document(world, PositionsAssembler(world.catalogue(snapshot), quotes), told, untold)["net"]
    assert (row["last_price"], row["pnl"]["unrealized"]) == (103.0, 230.0)
    closed = world.slice_of("zerodha", "positions", world.position(quantity=0))
    (row,) = document(world, PositionsAssembler(world.catalogue(snapshot), quotes), closed)["net"]
    assert row["last_price"] is None


@every_case(
    ("figures", "rupees"),
    [
        # A broker that tells neither sides nor results: what is open against its cost, never its market value.
        ({"quantity": 1750, "average_price": 342.40, "last_price": 349.75}, 12862.50),
        ({"quantity": -75, "average_price": 260.50, "last_price": 57.30}, 15240.0),
        # The sides say more than that: 5 of them were sold with a gain of 10.
        ({"quantity": 10, "buy_quantity": 15, "sell_quantity": 5, "buy_value": 1500.0, "sell_value": 510.0,
          "average_price": 100.0, "last_price": 103.0}, 40.0),
        # Sides without the leg that was carried in would make its whole value a profit.
        ({"quantity": 10, "buy_quantity": 0, "sell_quantity": 0, "average_price": 100.0, "last_price": 103.0}, 30.0),
        ({"quantity": 10, "average_price": 100.0, "last_price": 103.0, "realized": 7.0}, 37.0),
        ({"quantity": 10, "average_price": 100.0, "realized": 7.0}, None),
        ({"quantity": 10, "last_price": 103.0}, None),
    ],
)  # fmt: skip
def test_the_result_of_a_row_is_never_its_market_value(world: SimpleNamespace, figures, rupees) -> None:
    expected = None if rupees is None else round(rupees * 100)
    assert total_paise(world.position(**figures)) == expected


def test_a_live_price_stands_in_for_a_last_price_that_the_broker_does_not_give(world: SimpleNamespace) -> None:
    row = world.position(quantity=10, average_price=100.0, realized=7.0)
    assert total_paise(row, 103.0) == 3700
    assert total_paise(world.position(quantity=10, average_price=100.0, realized=7.0, last_price=101.0), 103.0) == 1700


def test_multipliers_that_differ_are_null(world: SimpleNamespace, snapshot: object) -> None:
    one = world.slice_of("zerodha", "positions", world.position(multiplier=1000.0))
    two = world.slice_of("upstox", "positions", world.position(multiplier=1.0))
    assert net_row(world, snapshot, one, two)["multiplier"] is None
    assert net_row(world, snapshot, one)["multiplier"] == 1000.0


def test_currency_prices_keep_four_decimals(world: SimpleNamespace, snapshot: object) -> None:
    row = world.position(instrument_token="T2", quantity=1000, average_price=83.12345, last_price=83.2)
    shown = net_row(world, snapshot, world.slice_of("zerodha", "positions", row))
    assert (shown["average_price"], shown["symbol"], shown["underlying_symbol"]) == (83.1235, None, "USDINR")


def test_one_instrument_in_two_products_is_two_rows(world: SimpleNamespace, snapshot: object) -> None:
    rows = (world.position("a", product="MIS"), world.position("b", product="CNC"))
    shown = document(
        world, PositionsAssembler(world.catalogue(snapshot)), world.slice_of("zerodha", "positions", *rows)
    )
    assert [row["product"] for row in shown["net"]] == ["delivery", "intraday"]


def test_an_unmapped_token_is_one_row_per_broker(world: SimpleNamespace) -> None:
    assembler = PositionsAssembler(world.catalogue())
    slices = [world.slice_of(broker, "positions", world.position()) for broker in ("a", "b")]
    assert len(document(world, assembler, *slices)["net"]) == 2


figures = st.one_of(st.none(), st.integers(-(10**9), 10**9).map(lambda amount: amount / 100))
position_rows = st.builds(
    PositionRow, position_key=st.text("xyz", min_size=3, max_size=3), view=st.sampled_from(["net", "day"]),
    product=st.sampled_from(["CNC", "MIS"]), instrument_token=st.sampled_from(["T1", "T2", "??"]),
    tradingsymbol=st.just("X"), exchange=st.just("NSE"), quantity=st.integers(-100, 100),
    buy_quantity=st.integers(0, 100), sell_quantity=st.integers(0, 100), buy_value=figures, sell_value=figures,
    average_price=st.one_of(st.none(), st.integers(1, 10**6).map(lambda price: price / 100)),
    realized=figures, unrealized=figures,
)  # fmt: skip
books = st.dictionaries(
    st.sampled_from(["zerodha", "upstox", "dhan"]),
    st.lists(position_rows, max_size=5, unique_by=lambda row: (row.view, row.position_key)),
)


@given(books)
def test_units_and_money_are_conserved_to_the_paisa(
    world: SimpleNamespace, snapshot: object, books: dict[str, list[PositionRow]]
) -> None:
    slices = [world.slice_of(broker, "positions", *rows) for broker, rows in books.items()]
    assembler = PositionsAssembler(world.catalogue(snapshot))
    shown = document(world, assembler, *slices)
    for view in ("net", "day"):
        every = [row for rows in books.values() for row in rows if row.view == view]
        assert sum(row["quantity"] for row in shown[view]) == sum(row.quantity for row in every)
        assert sum(len(row["by_broker"]) for row in shown[view]) == len(every)
        if all(row.buy_value is not None and row.realized is not None for row in every):
            assert sum(paise(row["buy_value"]) for row in shown[view]) == sum(paise(row.buy_value) for row in every)
            realized = sum(paise(row.realized) for row in every)
            assert sum(paise(row["pnl"]["realized"]) for row in shown[view]) == realized
            assert view == "day" or paise(shown["summary"]["realized"]) == realized
    assert document(world, PositionsAssembler(world.catalogue(snapshot)), *reversed(slices)) == shown
    assert document(world, assembler, *slices) == shown


def test_a_row_in_contracts_of_unknown_size_has_no_units_and_costs_no_other_row_its_own(world):
    snapshot = world.Snapshot()
    gold = snapshot.add(security("nse", "equities", "GOLD"), tokens={"a": "G", "b": "G"})
    known = world.position(
        "k", instrument_token="G", quantity=100, buy_quantity=100, sell_quantity=0, buy_value=1000.0, average_price=10.0
    )
    unknown = in_contracts(
        world.position(
            "k", instrument_token="G", quantity=-2, buy_quantity=0, sell_quantity=2, sell_value=20.0, unrealized=-3.5
        )
    )
    other = world.position("o", instrument_token="X", quantity=7)
    slices = world.by_broker(world.slice_of("a", "positions", known), world.slice_of("b", "positions", unknown, other))
    content = world.finish(PositionsAssembler(world.catalogue(snapshot)).assemble(slices))
    rows = {row.instrument_id: row for row in content.rows}
    merged = rows[gold]
    assert (merged.quantity, merged.sell_quantity, merged.sell_value, merged.average_price) == (None, None, None, None)
    assert (merged.buy_quantity, merged.buy_value) == (100, 1000.0)
    ours, contracts = json.loads(msgspec.json.encode(merged))["by_broker"]
    assert (ours["broker"], ours["quantity"], "contracts" in ours) == ("a", 100, False)
    assert (contracts["broker"], contracts["quantity"], contracts["contracts"]) == ("b", None, -2)
    assert contracts["pnl"]["unrealized"] == -3.5
    assert rows[None].quantity == 7


def test_sides_and_a_days_quantity_that_a_broker_does_not_tell_are_null_and_no_zero(world):
    snapshot = world.Snapshot()
    gold = snapshot.add(security("nse", "equities", "GOLD"), tokens={"a": "G", "b": "G"})
    told = {
        "instrument_token": "G",
        "buy_quantity": 100,
        "sell_quantity": 0,
        "buy_value": 1000.0,
        "overnight_quantity": 0,
    }
    not_told = {
        "instrument_token": "G",
        "buy_quantity": None,
        "sell_quantity": 5,
        "sell_value": 50.0,
        "overnight_quantity": None,
    }
    slices = [
        world.slice_of(
            code, "positions", *[world.position(view, view=view, quantity=quantity, **more) for view in ("net", "day")]
        )
        for code, quantity, more in (("a", 100, told), ("b", -5, not_told))
    ]
    unknown = tuple(msgspec.structs.replace(row, quantity=None) if row.view == "day" else row for row in slices[1].rows)
    shown = document(
        world, PositionsAssembler(world.catalogue(snapshot)), slices[0], attrs.evolve(slices[1], rows=unknown)
    )
    (net,), (day,) = shown["net"], shown["day"]
    assert (net["instrument_id"], net["quantity"], day["quantity"]) == (gold, 95, None)
    for row in (net, day):
        assert [row[name] for name in ("buy_quantity", "overnight_quantity", "buy_value", "buy_average")] == [None] * 4
        assert (row["sell_quantity"], row["sell_value"]) == (5, 50.0)
    ours, theirs = day["by_broker"]
    assert (ours["quantity"], theirs["quantity"], "contracts" in theirs) == (100, None, False)


def test_the_average_of_a_row_in_contracts_stands_and_its_result_is_never_computed(world):
    row = in_contracts(world.position("k", quantity=-2, average_price=10.0, last_price=9.0))
    content = world.finish(
        PositionsAssembler(world.catalogue()).assemble(world.by_broker(world.slice_of("a", "positions", row)))
    )
    (view,) = content.rows
    assert (view.quantity, view.average_price, view.pnl.unrealized) == (None, 10.0, None)


def test_rows_that_stayed_the_same_are_not_asked_again_whether_they_have_a_price(
    world: SimpleNamespace, snapshot: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def watched(row: PositionRow) -> bool:
        asked.append(row.position_key)
        return is_unpriced(row)

    monkeypatch.setattr(position_groups, "is_unpriced", watched)
    assembler = PositionsAssembler(world.catalogue(snapshot))
    first, second = world.position("z1", quantity=1, last_price=5.0), world.position("z2", quantity=2)
    document(world, assembler, world.slice_of("zerodha", "positions", first, second))
    changed = world.position("z1", quantity=1, last_price=6.0)
    document(world, assembler, world.slice_of("zerodha", "positions", changed, second))
    assert asked == ["z1", "z2", "z1"]


def test_a_row_without_a_name_in_the_catalogue_is_sorted_by_the_name_its_broker_gives_now(
    world: SimpleNamespace,
) -> None:
    snapshot = world.Snapshot()
    snapshot.tokens["zerodha", "1"], snapshot.tokens["zerodha", "2"] = "unknown-1", "unknown-2"
    assembler = PositionsAssembler(world.catalogue(snapshot))
    for names, order in ((("A", "B"), ["1", "2"]), (("C", "B"), ["2", "1"])):
        rows = [
            world.position(token, instrument_token=token, tradingsymbol=name)
            for token, name in zip(("1", "2"), names, strict=True)
        ]
        net = document(world, assembler, world.slice_of("zerodha", "positions", *rows))["net"]
        assert [row["by_broker"][0]["position_key"] for row in net] == order


def test_doubted_positions_are_shown_in_their_brokers_part_and_nowhere_else(world: SimpleNamespace) -> None:
    doubted = DoubtedRow(
        instrument_id=None, tradingsymbol="A", product="intraday", shown=0, by_fills=100, since="2026-11-23T10:00:00"
    )
    assembler = PositionsAssembler(world.catalogue(), None, lambda code: [doubted] if code == "zerodha" else [])
    one, other = (BrokerRead(broker=code, status=ReadStatus.OK, slice=None) for code in ("zerodha", "upstox"))
    assert assembler.broker_entry(one) == {**one.entry(), "doubted": [doubted]}
    assert assembler.broker_entry(other) == other.entry()
