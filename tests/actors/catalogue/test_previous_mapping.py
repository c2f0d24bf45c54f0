"""The morning on which a corporate action has changed the strikes of a share's contracts: their numbers stay, files are of two days."""

import random
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.catalogue.mapping_table import open_table, write_table
from onebroker.actors.catalogue.merge import merge
from onebroker.actors.catalogue.previous_mapping import Before, newest_before
from onebroker.brokers.listings.frame import Basis
from tests.support.further import searched

DAY = date(2026, 8, 21)
OPTION = {
    "segment": "equity_options",
    "symbol": None,
    "expiry_date": "2026-08-25",
    "option_type": "CE",
    "basis": Basis.STATED,
}
STRIKES = [390.0, 400.0, 410.0, 420.0]
LESS = 9.25
"""A dividend above the exchange's threshold is taken off every strike: 390 becomes 380.75."""


def options(underlying, strikes, first, less=0.0, **more):
    return [
        OPTION
        | {
            "underlying_symbol": underlying,
            "strike_price": strike - less,
            "exchange_token": str(first + n),
            "broker_token": str(first + n),
        }
        | more
        for n, strike in enumerate(strikes)
    ]


def usual(count=60):
    return options("RELIANCE", [1000.0 + 10 * n for n in range(count)], 1000)


def file(market, *, adjusted, rows=()):
    return market.frame(*usual(), *options("HINDPETRO", STRIKES, 100, LESS if adjusted else 0.0), *rows)


@pytest.fixture
def before(market, tmp_path):
    catalogue, _ = merge({code: file(market, adjusted=False) for code in "abc"})
    write_table(catalogue, tmp_path / "before")
    return Before(tmp_path / "before", DAY)


def strikes(catalogue, underlying="HINDPETRO"):
    return {
        row["strike_price"]: sorted(listing["broker"] for listing in row["listings"])
        for row in catalogue.iter_rows(named=True)
        if row["underlying_symbol"] == underlying
    }


ADJUSTED = [strike - LESS for strike in STRIKES]


@pytest.mark.parametrize("newer", ["a", "c"])
def test_the_one_file_of_today_outweighs_those_of_yesterday_which_are_listed_under_its_strikes(newer, market, before):
    catalogue, reports = merge({code: file(market, adjusted=code == newer) for code in "abc"}, before)
    assert strikes(catalogue) == {strike: ["a", "b", "c"] for strike in ADJUSTED}
    assert [reports[code].matched for code in "abc"] == [0 if code == newer else 4 for code in "abc"]
    assert [reports[code].contradicted for code in "abc"] == [0, 0, 0]
    assert set(map(tuple, strikes(catalogue, "RELIANCE").values())) == {("a", "b", "c")}


def test_without_a_mapping_before_the_majority_decides_as_ever(market):
    catalogue, _ = merge({code: file(market, adjusted=code == "a") for code in "abc"})
    assert strikes(catalogue) == {strike: ["b", "c"] for strike in STRIKES}


def test_one_odd_strike_of_an_underlying_is_no_adjustment(market, before):
    odd = options("HINDPETRO", STRIKES, 100)
    odd[0] = odd[0] | {"strike_price": 39.0}
    frames = {"a": market.frame(*usual(), *odd), **{code: file(market, adjusted=False) for code in "bc"}}
    catalogue, reports = merge(frames, before)
    assert strikes(catalogue) == {390.0: ["b", "c"]} | {strike: ["a", "b", "c"] for strike in STRIKES[1:]}
    assert reports["a"].contradicted == 1


def test_a_file_in_which_many_underlyings_changed_is_wrong_not_new(market, before):
    """A broker that writes strikes in another unit one morning does not outweigh two that do not."""
    rows = [
        row | {"strike_price": row["strike_price"] / 100} for row in (*usual(20), *options("HINDPETRO", STRIKES, 100))
    ]
    frames = {"a": market.frame(*rows, *usual()[20:]), **{code: file(market, adjusted=False) for code in "bc"}}
    catalogue, _ = merge(frames, before)
    assert strikes(catalogue) == {strike: ["b", "c"] for strike in STRIKES}


def adjusted_ids(market, before, tmp_path, frames):
    catalogue, _ = merge(frames, before)
    write_table(catalogue, tmp_path / "now")
    return catalogue, {one.old_id: one.new_id for one in before.adjustments(open_table(tmp_path / "now"))}


def test_a_contract_whose_strike_was_adjusted_is_known_by_its_token(market, before, tmp_path):
    catalogue, found = adjusted_ids(market, before, tmp_path, {code: file(market, adjusted=True) for code in "abc"})
    old, _ = merge({"a": file(market, adjusted=False)})
    ids = [
        dict(zip(frame["strike_price"], frame["instrument_id"], strict=True))
        for frame in (one.filter(underlying_symbol="HINDPETRO") for one in (old, catalogue))
    ]
    assert found == {ids[0][strike]: ids[1][strike - LESS] for strike in STRIKES}


def test_a_token_given_to_another_contract_is_no_succession(market, before, tmp_path):
    """Another expiry or side, or a contract that was listed before as well."""
    given_away = [
        options("HINDPETRO", [390.0], 100, expiry_date="2026-09-29")[0],
        options("HINDPETRO", [400.0], 101, option_type="PE")[0],
        options("RELIANCE", [1000.0], 102)[0],
    ]
    frames = {code: market.frame(*usual()[1:], *given_away) for code in "abc"}
    _, found = adjusted_ids(market, before, tmp_path, frames)
    assert found == {}


def test_only_a_mapping_of_an_earlier_day_is_a_witness(market, before, tmp_path):
    assert newest_before([("2026-08-21", str(tmp_path / "before"))], DAY) is None
    assert newest_before([("2026-08-21", "x"), ("2026-08-20", str(tmp_path / "before"))], DAY) is not None
    lost = newest_before([("2026-08-20", str(tmp_path / "nothing"))], DAY)
    catalogue, _ = merge({code: file(market, adjusted=code == "a") for code in "abc"}, lost)
    assert lost.trouble
    assert strikes(catalogue) == {strike: ["b", "c"] for strike in STRIKES}


@searched(10, 40)
@given(newer=st.sets(st.sampled_from("abcd"), min_size=1), order=st.permutations("abcd"), seed=st.integers(0, 99))
def test_whichever_files_are_of_today_the_adjusted_strike_has_one_id_in_every_order(
    newer, order, seed, market, tmp_path_factory
):
    folder = tmp_path_factory.mktemp("before")
    catalogue, _ = merge({code: file(market, adjusted=False) for code in "abcd"})
    write_table(catalogue, folder / "before")
    dice = random.Random(seed)
    frames = {
        code: file(market, adjusted=code in newer).sample(fraction=1.0, shuffle=True, seed=dice.randrange(999))
        for code in order
    }
    found, _ = merge(frames, Before(folder / "before", DAY))
    assert strikes(found) == {strike: list("abcd") for strike in ADJUSTED}


def test_a_contract_with_the_old_strike_that_is_listed_anew_does_not_hide_the_adjusted_one(market, before, tmp_path):
    anew = options("HINDPETRO", [390.0], 900)
    _, found = adjusted_ids(market, before, tmp_path, {code: file(market, adjusted=True, rows=anew) for code in "abc"})
    assert len(found) == 4


def test_tokens_that_hold_the_strike_say_nothing_and_spoil_nothing(market, tmp_path):
    """Two brokers' tokens are names with the strike in them; a third's number tells which contract it is."""

    def of(code, adjusted):
        rows = [*usual(), *options("HINDPETRO", STRIKES, 100, LESS if adjusted else 0.0)]
        named = [row | {"broker_token": f"{row['underlying_symbol']}:{row['strike_price']}"} for row in rows]
        return market.frame(*(named if code in "ab" else rows))

    catalogue, _ = merge({code: of(code, False) for code in "abc"})
    write_table(catalogue, tmp_path / "before")
    before = Before(tmp_path / "before", DAY)
    merged, found = adjusted_ids(market, before, tmp_path, {code: of(code, code == "a") for code in "abc"})
    assert strikes(merged) == {strike: ["a", "b", "c"] for strike in ADJUSTED}
    _, found = adjusted_ids(market, before, tmp_path, {code: of(code, True) for code in "abc"})
    assert len(found) == 4
