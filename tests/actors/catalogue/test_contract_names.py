"""What a contract's underlying is called: the same whoever else lists it, and never a reason to lose the contract."""

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.catalogue.merge import merge
from onebroker.brokers.listings.frame import Basis
from tests.support.further import searched

OPTION = {
    "segment": "equity_index_options", "symbol": None, "expiry_date": "2026-11-24", "option_type": "CE", "basis": Basis.STATED,
}  # fmt: skip
FUTURE = {"segment": "equity_index_futures", "symbol": None, "basis": Basis.STATED}
OTHER_NAMES = {
    "NIFTY": "NIFTY 50",
    "BANKNIFTY": "NIFTY BANK",
    "FINNIFTY": "NIFTY FINANCIAL",
    "MIDCPNIFTY": "NIFTY MIDCAP",
    "NIFTYNXT50": "NIFTY NEXT 50",
}


def options(underlying, numbers):
    return [
        OPTION
        | {
            "underlying_symbol": underlying,
            "exchange_token": str(n),
            "broker_token": f"{underlying}{n}",
            "strike_price": 100.0 * n,
        }
        for n in numbers
    ]


def futures(underlying, numbers):
    return [
        FUTURE
        | {
            "underlying_symbol": underlying,
            "exchange_token": str(n),
            "broker_token": f"{underlying}{n}",
            "expiry_date": f"2026-11-{n - 900:02d}",
        }
        for n in numbers
    ]


def ids(merged):
    """(Broker, token) -> instrument_id."""
    return {
        (listing["broker"], listing["broker_token"]): row["instrument_id"]
        for row in merged.iter_rows(named=True)
        for listing in row["listings"]
    }


def test_a_name_is_learnt_from_the_contracts_that_others_list_whatever_else_its_broker_lists(market):
    """One broker lists three times as many strikes as the others: what they do not list says nothing against the name."""
    usual = [*options("NEWINDEX", range(1, 11)), *futures("NEWINDEX", (901, 902))]
    merged, reports = merge(
        {
            "a": market.frame(*usual),
            "b": market.frame(*usual),
            "c": market.frame(*options("NEW INDEX 40", range(1, 31)), *futures("NEW INDEX 40", (901, 902))),
        }
    )
    assert merged["underlying_symbol"].unique().to_list() == ["NEWINDEX"]
    assert merged.height == 32
    assert [reports[code].rows for code in "abc"] == [12, 12, 32]


def test_a_contract_that_differs_in_its_underlyings_name_only_is_never_left_out(market):
    """Its numbers point to two names, so none is learnt; the contract is nevertheless what its own file says."""
    usual = options("DDD", range(11, 40))
    known = [*options("AAA", range(1, 6)), *options("BBB", range(6, 11)), *usual]
    odd = [*options("CCC", range(1, 11)), *usual]
    merged, reports = merge({"a": market.frame(*known), "b": market.frame(*known), "c": market.frame(*odd)})
    assert reports["c"].rows == len(odd)
    assert reports["c"].contradicted == 10
    assert merged.height == len(known) + 10


def test_a_contract_whose_number_others_give_to_another_strike_is_left_out_still(market):
    wrong = options("AAA", range(1, 10))
    wrong[0] = wrong[0] | {"strike_price": 5.0}
    known = options("AAA", range(1, 10))
    _, reports = merge({"a": market.frame(*known), "b": market.frame(*known), "c": market.frame(*wrong)})
    assert (reports["c"].rows, reports["c"].contradicted) == (8, 1)


@pytest.mark.parametrize(("name", "index"), OTHER_NAMES.items())
def test_contracts_on_an_index_have_the_exchanges_name_for_them_also_where_their_file_stands_alone(name, index, market):
    alone, _ = merge({"a": market.frame(*options(index, range(1, 4)))})
    usual, _ = merge({"a": market.frame(*options(name, range(1, 4)))})
    assert alone["instrument_id"].to_list() == usual["instrument_id"].to_list()


BROKERS = "abcd"


@searched(20, 60)
@given(
    listed=st.lists(
        st.tuples(st.sampled_from(sorted(OTHER_NAMES)), st.sets(st.integers(1, 12), min_size=1)),
        min_size=4,
        max_size=4,
        unique_by=lambda one: one[0],
    ),
    odd=st.sets(st.sampled_from(BROKERS), max_size=2),
    present=st.permutations(BROKERS).flatmap(lambda order: st.integers(1, 4).map(lambda count: order[:count])),
    seed=st.integers(0, 99),
)
def test_an_id_depends_neither_on_the_brokers_there_are_nor_on_their_order_nor_on_that_of_rows(
    listed, odd, present, seed, market
):
    """Every broker lists part of the contracts of four indices; some call them as the index."""
    dice = random.Random(seed)

    def rows(code):
        called = [
            (OTHER_NAMES[name] if code in odd else name, place * 20, numbers)
            for place, (name, numbers) in enumerate(listed)
        ]
        return [
            row
            | {
                "exchange_token": str(start + int(row["exchange_token"])),
                "broker_token": f"{code}{start}{row['exchange_token']}",
            }
            for name, start, numbers in called
            for row in options(name, sorted(numbers))
        ]

    files = {code: rows(code) for code in BROKERS}
    of_all, _ = merge({code: market.frame(*rows) for code, rows in files.items() if rows})
    some = {code: market.frame(*dice.sample(files[code], len(files[code]))) for code in present if files[code]}
    of_some, _ = merge(some)
    whole = ids(of_all)
    assert ids(of_some) == {named: instrument_id for named, instrument_id in whole.items() if named[0] in some}


def test_every_order_of_files_learns_the_same_name(market):
    files = {
        "a": market.frame(*options("NEWINDEX", range(1, 11))),
        "b": market.frame(*options("NEWINDEX", range(5, 15))),
        "c": market.frame(*options("NEW INDEX 40", range(1, 31))),
    }
    found = [ids(merge({code: files[code] for code in order})[0]) for order in itertools.permutations(files)]
    assert all(one == found[0] for one in found)
