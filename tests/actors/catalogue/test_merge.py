"""One row per natural key: ids, votes, and what is left out because it cannot be trusted."""

import random

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from onebroker.actors.catalogue.merge import merge
from onebroker.brokers.listings.frame import listing_frame
from onebroker.config.instruments import identity_from_fields
from tests.support.every_case import every_case
from tests.support.further import searched

FUTURE = {"segment": "equity_futures", "symbol": None, "underlying_symbol": "INFY", "expiry_date": "2026-11-26"}
OPTION = FUTURE | {"segment": "equity_options", "strike_price": 1500.0, "option_type": "CE"}


def only(frame):
    assert frame.height == 1
    return frame.row(0, named=True)


def test_brokers_with_the_same_instrument_give_one_row(market):
    merged, reports = merge(
        {
            "a": market.frame({"symbol": "infy ", "broker_token": "1", "name": None, "isin": "INE009A01021"}),
            "b": market.frame({"broker_token": "NSE|9", "name": "INFOSYS", "tradingsymbol": "INFY-EQ"}),
        }
    )
    row = only(merged)
    assert (row["symbol"], row["segment"], row["name"], row["isin"]) == (
        "INFY", "nse_equities", "INFOSYS", "INE009A01021",
    )  # fmt: skip
    assert [(one["broker"], one["broker_token"], one["tradingsymbol"]) for one in row["listings"]] == [
        ("a", "1", "INFY"), ("b", "NSE|9", "INFY-EQ"),
    ]  # fmt: skip
    assert reports["b"].segments == {"nse_equities": 1}


IDENTITIES = st.one_of(
    st.fixed_dictionaries({"symbol": st.text("ABCxyz&-1 |", min_size=1, max_size=6).filter(str.strip)}),
    st.fixed_dictionaries(
        {
            "segment": st.just("equity_options"), "symbol": st.none(), "underlying_symbol": st.sampled_from(["INFY", "m&m"]),
            "expiry_date": st.dates().map(str), "option_type": st.sampled_from(["CE", "PE"]),
            "strike_price": st.one_of(
                st.integers(1, 10**7).map(float), st.floats(0.0025, 1e7, allow_nan=False), st.sampled_from([1e16, 1e-5, 0.1])
            ),
        }
    ),
    st.fixed_dictionaries(
        {
            "segment": st.just("currency_futures"), "symbol": st.none(), "underlying_symbol": st.just("USDINR"),
            "expiry_date": st.dates().map(str),
        }
    ),
)  # fmt: skip


@searched(20, 60)
@given(rows=st.lists(IDENTITIES, min_size=1, max_size=6), seed=st.integers(0, 9))
def test_ids_are_those_of_identity_and_do_not_depend_on_broker_or_row_order(rows, seed, market):
    listed = [{**row, "broker_token": str(number)} for number, row in enumerate(rows)]
    shuffled = random.Random(seed).sample(listed, len(listed))
    one, _ = merge({"a": market.frame(*listed)})
    other, _ = merge({"b": market.frame(*shuffled)})
    assume(one.height)  # all rows may name one instrument by several tokens
    assert one["instrument_id"].to_list() == other["instrument_id"].to_list()
    for row in one.iter_rows(named=True):
        assert identity_from_fields(row).instrument_id == row["instrument_id"]
    same, _ = merge({"a": market.frame(*shuffled)})
    assert same.equals(one)


def test_the_tick_size_is_what_most_agree_on_and_none_on_a_tie(market):
    def tick(*sizes):
        return only(merge({str(n): market.frame({"tick_size": size}) for n, size in enumerate(sizes)})[0])["tick_size"]

    assert tick(0.05, 0.1, 0.05) == 0.05
    assert tick(0.05, 0.1) is None
    assert tick(None, 0.0) is None
    assert tick(0.05, None) == 0.05


def test_the_lot_size_is_what_most_give_and_on_a_tie_the_first_brokers(market):
    def lot(*sizes):
        return only(merge({str(n): market.frame({"lot_size": size}) for n, size in enumerate(sizes)})[0])["lot_size"]

    assert lot(75, 65, 65) == 65
    assert lot(75, 65) == 75
    assert lot(0, None) is None


def test_the_freeze_quantity_is_what_most_give_else_the_smallest_and_never_one(market):
    def freeze(*sizes):
        rows = {str(n): market.frame({"freeze_quantity": size, "lot_size": 75}) for n, size in enumerate(sizes)}
        return only(merge(rows)[0])["freeze_quantity"]

    assert freeze(1800, 1800, 900) == 1800
    assert freeze(1800, 900) == 900
    assert freeze(1, None) is None
    assert freeze(74, 1800) == 1800


@every_case(
    "row",
    [
        {"symbol": None},
        {"symbol": "  "},
        {"broker_token": ""},
        FUTURE | {"expiry_date": "2026-02-30"},
        FUTURE | {"expiry_date": "26-11-2026"},
        FUTURE | {"underlying_symbol": None},
        OPTION | {"strike_price": None},
        OPTION | {"strike_price": 0.0},
        OPTION | {"strike_price": float("nan")},
        OPTION | {"option_type": "XX"},
    ],
)
def test_a_row_without_a_complete_identity_or_token_is_refused_and_counted(row, market):
    good = {"symbol": "TCS", "broker_token": "2", "tradingsymbol": "TCS"}
    merged, reports = merge({"a": market.frame(good, row)})
    assert only(merged)["symbol"] == "TCS"
    assert (reports["a"].rows, reports["a"].refused) == (1, 1)


@every_case(
    "row",
    [
        {"exchange": "nasdaq"}, {"segment": "stocks"}, {"exchange": "mcx"}, {"exchange": "unknown"}, {"exchange": None},
        {"segment": None}, {"segment": "uncategorised"}, FUTURE | {"exchange": "unknown"},
    ],
)  # fmt: skip
def test_a_row_that_fits_nothing_is_shown_under_unknown_by_its_brokers_words_and_counted(row, market):
    good = {"symbol": "TCS", "broker_token": "2", "tradingsymbol": "TCS"}
    odd = {"tradingsymbol": "Odd 1", "broker_exchange": "XY", "isin": "INE009A01021", "words": "XY EQ"} | row
    merged, reports = merge({"a": market.frame(good, odd)})
    shown = merged.filter(pl.col("exchange") == "unknown").row(0, named=True)
    assert (shown["segment"], shown["shape"], shown["symbol"]) == ("uncategorised", "security", "A:XY:ODD 1")
    assert (shown["isin"], shown["underlying_symbol"], shown["expiry_date"]) == (None, None, None)
    assert identity_from_fields(shown).instrument_id == shown["instrument_id"]
    assert (reports["a"].rows, reports["a"].refused, reports["a"].uncategorised) == (2, 0, 1)
    assert reports["a"].unknown_words == {"XY EQ": 1}


def test_two_brokers_things_that_fit_nothing_are_never_one(market):
    odd = {"segment": "uncategorised", "tradingsymbol": "ODD", "broker_exchange": "XY"}
    merged, _ = merge({"a": market.frame(odd), "b": market.frame(odd)})
    assert merged["symbol"].to_list() == ["A:XY:ODD", "B:XY:ODD"]


def test_what_fits_nothing_keeps_its_id_while_others_come_and_go(market):
    odd = {"segment": "uncategorised", "tradingsymbol": "ODD", "broker_exchange": "XY"}
    other = odd | {"tradingsymbol": "ELSE", "broker_token": "2"}
    twin = odd | {"broker_token": "3"}
    alone, _ = merge({"a": market.frame(odd)})
    both, _ = merge({"b": market.frame({}), "a": market.frame(other, odd)})
    assert alone["instrument_id"][0] in both["instrument_id"].to_list()
    twins, _ = merge({"a": market.frame(odd, twin)})
    assert twins["symbol"].to_list() == ["A:XY:ODD:1", "A:XY:ODD:3"]


def test_the_most_frequent_unknown_words_are_reported_first(market):
    rows = [
        {
            "segment": "uncategorised",
            "tradingsymbol": f"T{number}",
            "broker_token": str(number),
            "words": f"W{number % 7}",
        }
        for number in range(8)
    ]
    _, reports = merge({"a": market.frame(*rows)})
    assert list(reports["a"].unknown_words.items()) == [("W0", 2), ("W1", 1), ("W2", 1), ("W3", 1), ("W4", 1)]
    assert reports["a"].uncategorised == 8


def test_what_fits_nothing_takes_no_isin_from_a_listing_that_does(market):
    odd = {
        "segment": "uncategorised",
        "tradingsymbol": "ODD",
        "broker_exchange": "XY",
        "isin": "INE009A01021",
        "broker_token": "2",
    }
    merged, _ = merge({"a": market.frame(odd, {"isin": "INE009A01021"})})
    assert merged.filter(pl.col("isin") == "INE009A01021")["exchange"].to_list() == ["nse"]


def test_two_tokens_for_one_instrument_leave_it_out_at_that_broker_only(market):
    merged, reports = merge(
        {"a": market.frame({"broker_token": "1"}, {"broker_token": "2"}), "b": market.frame({"broker_token": "7"})}
    )
    assert [one["broker"] for one in only(merged)["listings"]] == ["b"]
    assert reports["a"].ambiguous == 2
    assert reports["a"].examples == ["nse|nse_equities|security|INFY"]


def test_one_token_for_two_instruments_leaves_both_out_at_that_broker(market):
    merged, reports = merge(
        {"a": market.frame({"symbol": "INFY"}, {"symbol": "TCS"}, {"symbol": "OK", "broker_token": "3"})}
    )
    assert only(merged)["symbol"] == "OK"
    assert reports["a"].ambiguous == 2


def test_a_row_written_twice_counts_once(market):
    merged, reports = merge({"a": market.frame({}, {})})
    assert merged.height == reports["a"].rows == 1
    assert reports["a"].ambiguous == 0


def test_an_empty_frame_loses_its_broker_only(market):
    empty = listing_frame(pl.DataFrame())
    merged, reports = merge({"a": empty, "b": market.frame({})})
    assert merged.height == 1
    assert reports["a"].error == "its file lists no instrument"
    assert reports["b"].error is None


CRUDE = {
    "exchange": "mcx", "segment": "commodity_futures", "symbol": None, "underlying_symbol": "CRUDEOIL",
    "expiry_date": "2026-12-18", "tick_size": 1.0,
}  # fmt: skip


def units_of(market, **brokers):
    """Return each broker's units per lot in the merged row; each gives (lot size, units in its own quantities)."""
    frames = {
        code: market.frame(CRUDE | {"broker_token": code, "lot_size": lot, "contract_units": units})
        for code, (lot, units) in brokers.items()
    }
    row = only(merge(frames)[0])
    return {one["broker"]: one["contract_units"] for one in row["listings"]}


def test_a_lot_of_unknown_size_is_the_size_on_which_all_who_say_agree(market):
    assert units_of(market, a=(100, 1), b=(100, 100), c=(1, None), d=(None, None)) == {
        "a": 1, "b": 100, "c": 100, "d": 100,
    }  # fmt: skip


def test_a_broker_that_takes_the_size_from_the_others_does_not_tell_one(market):
    frames = {
        "a": market.frame(CRUDE | {"broker_token": "1", "lot_size": 100, "contract_units": 1}),
        "c": market.frame(CRUDE | {"broker_token": "2", "lot_size": 1, "contract_units": None}),
    }
    row = only(merge(frames)[0])
    assert [(one["lot_size"], one["contract_units"]) for one in row["listings"]] == [(100, 1), (None, 100)]
    assert row["lot_size"] == 100


@pytest.mark.parametrize(
    "others",
    [
        {"a": (100, 1), "b": (10, 1)},  # they disagree
        {"a": (1, 1)},  # a lot of one is how files say "unknown" too
        {"a": (None, 1)},
        {"a": (100, None)},  # its own quantities are not understood either
        {},
    ],
)
def test_a_lot_on_whose_size_nobody_can_be_trusted_stays_unknown(market, others):
    assert units_of(market, **others, c=(1, None))["c"] is None


def test_an_agreed_lot_does_not_reach_another_contract(market):
    later = CRUDE | {"expiry_date": "2027-01-19"}
    merged, _ = merge(
        {
            "a": market.frame(CRUDE | {"broker_token": "1", "lot_size": 100, "contract_units": 1}),
            "c": market.frame(
                CRUDE | {"broker_token": "2", "lot_size": None, "contract_units": None},
                later | {"broker_token": "3", "lot_size": None, "contract_units": None},
            ),
        }
    )
    units = {row["expiry_date"]: row["listings"][-1]["contract_units"] for row in merged.iter_rows(named=True)}
    assert units == {"2026-12-18": 100, "2027-01-19": None}
