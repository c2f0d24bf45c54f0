"""What other brokers' files decide of a row, and what nobody decides."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.catalogue.merge import merge, segment_counts
from onebroker.brokers.listings.frame import Basis
from tests.support.further import searched

RELIANCE, TCS = "INE002A01018", "INE467B01029"
INDEX = {"segment": "equity_indices"}
FUTURE = {"segment": "equity_index_futures", "symbol": None, "underlying_symbol": "NIFTY", "expiry_date": "2026-11-24"}


def share(symbol, token, **more):
    return {
        "symbol": symbol,
        "exchange_token": token,
        "broker_token": token,
        "series": "EQ",
        "tradingsymbol": symbol,
    } | more


def listed(merged):
    """Natural identity -> brokers."""
    return {
        "|".join(filter(None, (row["segment"], row["symbol"] or row["underlying_symbol"], row["expiry_date"]))): [
            listing["broker"] for listing in row["listings"]
        ]
        for row in merged.iter_rows(named=True)
    }


# securities --------------------------------------------------------------------------------------------------------------


def test_the_number_and_the_isin_make_two_spellings_one(market):
    merged, reports = merge(
        {
            "a": market.frame(share("TATAMTR", "3456", isin=RELIANCE)),
            "b": market.frame(share("TATAMOTORS", "3456", isin=RELIANCE)),
            "c": market.frame(share("TATAMOTORS", "03456", isin=None)),
        }
    )
    assert listed(merged) == {"nse_equities|TATAMOTORS": ["a", "b", "c"]}
    assert [reports[code].matched for code in "abc"] == [1, 0, 0]


def test_a_number_alone_makes_no_two_symbols_one(market):
    """A file a day old can give a number to another company."""
    good = [share("AA", "1"), share("BB", "2")]
    merged, reports = merge(
        {"a": market.frame(*good, share("OLD", "77")), "b": market.frame(*good, share("NEW", "77"))}
    )
    assert listed(merged) == {
        "nse_equities|AA": ["a", "b"], "nse_equities|BB": ["a", "b"], "nse_equities|NEW": ["b"], "nse_equities|OLD": ["a"],
    }  # fmt: skip
    assert (reports["a"].contradicted, reports["b"].contradicted) == (0, 1)


def test_two_brokers_outvote_a_third_whose_number_means_another_share(market):
    """Its token would send an order to the other share: it is left out, and nothing else of its file."""
    good = [share(f"S{number}", str(number)) for number in range(1, 6)]
    merged, reports = merge(
        {
            "a": market.frame(*good, share("TCS", "77", isin=TCS)),
            "b": market.frame(*good, share("TCS", "77", isin=TCS)),
            "c": market.frame(*good, share("RELIANCE", "77")),
        }
    )
    assert "nse_equities|RELIANCE" not in listed(merged)
    assert listed(merged)["nse_equities|TCS"] == ["a", "b"]
    assert (reports["c"].rows, reports["c"].contradicted) == (5, 1)
    assert reports["c"].examples == ["nse|nse_equities|security|RELIANCE"]


def test_numbers_that_are_a_brokers_own_say_nothing(market):
    names = ["AA", "BB", "CC", "DD"]
    theirs = [share(name, str(number)) for number, name in enumerate(names, 1)]
    own = [share(name, str(number)) for number, name in enumerate(reversed(names), 1)]
    merged, reports = merge({"a": market.frame(*theirs), "b": market.frame(*theirs), "c": market.frame(*own)})
    assert listed(merged) == {f"nse_equities|{name}": ["a", "b", "c"] for name in names}
    assert reports["c"].contradicted == 0


def test_a_row_without_a_number_is_known_by_its_isin(market):
    merged, _ = merge(
        {
            "a": market.frame(share("RELIANCE", "2885", isin=RELIANCE)),
            "b": market.frame(share("RELIND", None, isin=RELIANCE, broker_token="R")),
        }
    )
    assert listed(merged) == {"nse_equities|RELIANCE": ["a", "b"]}


def test_an_isin_on_another_exchange_matches_nothing(market):
    merged, _ = merge(
        {
            "a": market.frame(share("RELIANCE", "2885", isin=RELIANCE)),
            "b": market.frame(share("RELIND", None, isin=RELIANCE, exchange="bse", series="A", broker_token="R")),
        }
    )
    assert len(listed(merged)) == 2


@pytest.mark.parametrize("order", [("a", "b", "c"), ("c", "b", "a"), ("b", "c", "a")])
def test_of_a_share_in_two_series_the_ordinary_one_has_the_symbol_whoever_lists_it(order, market):
    eq, be = share("TWICE", "5"), share("TWICE", "6", series="BE")
    frames = {"a": market.frame(eq, be), "b": market.frame(be), "c": market.frame(eq)}
    merged, _ = merge({code: frames[code] for code in order})
    found = {name: sorted(brokers) for name, brokers in listed(merged).items()}
    assert found == {"nse_equities|TWICE": ["a", "c"], "nse_equities|TWICE-BE": ["a", "b"]}


def test_a_share_in_a_second_series_alone_has_the_plain_symbol(market):
    merged, _ = merge({"a": market.frame(share("TWICE", "6", series="BE"))})
    assert listed(merged) == {"nse_equities|TWICE": ["a"]}


def test_of_two_scrips_of_one_symbol_on_bse_the_lower_code_keeps_it_at_every_broker(market):
    low = share("SREI", "500001", exchange="bse", series="A")
    high = share("SREI", "954423", exchange="bse", series="F", segment="fixed_income", basis=Basis.STATED)
    merged, _ = merge({"a": market.frame(high, low), "b": market.frame(high | {"symbol": "945SREI24"})})
    assert listed(merged) == {
        "bse_equities|SREI": ["a"], "bse_fixed_income|SREI-954423": ["a"], "bse_fixed_income|945SREI24": ["b"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("said", "segment"),
    [
        ([("equities", Basis.SUPPOSED)] * 3 + [("exchange_traded_funds", Basis.ISIN)], "nse_exchange_traded_funds"),
        ([("equities", Basis.SUPPOSED), ("exchange_traded_funds", Basis.WORDS)], "nse_exchange_traded_funds"),
        ([("mutual_funds", Basis.STATED)] + [("exchange_traded_funds", Basis.ISIN)] * 5, "nse_mutual_funds"),
        ([("uncategorised", Basis.UNKNOWN)] * 3 + [("equities", Basis.SUPPOSED)], "nse_equities"),
        ([("uncategorised", Basis.UNKNOWN)] * 2, "uncategorised"),
    ],
)
def test_a_vote_on_better_grounds_outweighs_all_on_lesser_ones(said, segment, market):
    frames = {
        str(place): market.frame(share("XYZ", "9", segment=bare, basis=basis))
        for place, (bare, basis) in enumerate(said)
    }
    merged, _ = merge(frames)
    assert merged["segment"].unique().to_list() == [segment]


def test_with_equally_good_votes_for_two_segments_it_fits_nothing_and_is_counted(market):
    merged, reports = merge(
        {
            "a": market.frame(share("XYZ", "9", segment="mutual_funds", basis=Basis.STATED)),
            "b": market.frame(share("XYZ", "9", segment="exchange_traded_funds", basis=Basis.STATED)),
        }
    )
    assert listed(merged) == {"uncategorised|A:NSE:XYZ": ["a"], "uncategorised|B:NSE:XYZ": ["b"]}
    assert [(report.contradicted, report.uncategorised) for report in reports.values()] == [(1, 1), (1, 1)]


# indices -----------------------------------------------------------------------------------------------------------------


def test_an_index_is_known_by_its_name_or_by_the_name_of_its_contracts(market):
    merged, _ = merge(
        {
            "a": market.frame(INDEX | {"symbol": "NIFTY FIN SERVICE"}),
            "b": market.frame(INDEX | {"symbol": "Nifty Fin Service", "short_name": "FINNIFTY"}),
            "c": market.frame(INDEX | {"symbol": "Nifty Financial Services", "short_name": "FINNIFTY"}),
            "d": market.frame(INDEX | {"symbol": "FINNIFTY", "short_name": "FINNIFTY"}),
            "e": market.frame(INDEX | {"symbol": "NiftyFinService"}),
        }
    )
    assert listed(merged) == {"nse_equity_indices|NIFTY FIN SERVICE": ["a", "b", "c", "d", "e"]}


def test_names_by_which_a_brokers_two_indices_would_be_one_join_nothing(market):
    two = [
        INDEX | {"symbol": "NIFTY 50", "short_name": "NIFTY"},
        INDEX | {"symbol": "NIFTY 100", "short_name": "NIFTY", "broker_token": "2"},
    ]
    merged, reports = merge({"a": market.frame(*two), "b": market.frame(INDEX | {"symbol": "Nifty50"})})
    assert listed(merged) == {"nse_equity_indices|NIFTY 100": ["a"], "nse_equity_indices|NIFTY 50": ["a", "b"]}
    assert reports["a"].contradicted == 2


def test_indices_of_two_exchanges_are_two(market):
    merged, _ = merge(
        {"a": market.frame(INDEX | {"symbol": "X"}), "b": market.frame(INDEX | {"symbol": "X", "exchange": "bse"})}
    )
    assert merged.height == 2


# contracts ---------------------------------------------------------------------------------------------------------------


def test_an_underlying_is_what_those_say_who_are_told(market):
    guess = FUTURE | {"segment": "equity_futures", "basis": Basis.WORDS}
    merged, reports = merge(
        {"a": market.frame(guess), "b": market.frame(guess), "c": market.frame(FUTURE | {"basis": Basis.STATED})}
    )
    assert listed(merged) == {"nse_equity_index_futures|NIFTY|2026-11-24": ["a", "b", "c"]}
    assert [reports[code].matched for code in "abc"] == [1, 1, 0]


def test_with_equal_right_each_file_keeps_what_it_says_of_an_underlying(market):
    merged, reports = merge(
        {
            "a": market.frame(FUTURE | {"basis": Basis.STATED}),
            "b": market.frame(FUTURE | {"segment": "equity_futures", "basis": Basis.STATED}),
        }
    )
    assert merged.height == 2
    assert [report.contradicted for report in reports.values()] == [1, 1]


def contracts(underlying, numbers, **more):
    return [
        FUTURE
        | {
            "underlying_symbol": underlying,
            "exchange_token": str(n),
            "broker_token": str(n),
            "expiry_date": f"2026-11-{n:02d}",
        }
        | more
        for n in numbers
    ]


def test_a_code_for_an_underlying_is_learnt_from_the_numbers_of_its_contracts(market):
    merged, reports = merge(
        {
            "a": market.frame(*contracts("SENSEX", range(1, 9))),
            "b": market.frame(*contracts("SENSEX", range(1, 9))),
            "c": market.frame(*contracts("BSXFUT", range(1, 9))),
        }
    )
    assert set(map(tuple, listed(merged).values())) == {("a", "b", "c")}
    assert merged.height == 8
    assert (reports["c"].matched, reports["c"].contradicted) == (8, 0)


def test_a_code_that_could_be_two_underlyings_is_neither(market):
    known = [*contracts("SENSEX", range(1, 5)), *contracts("BANKEX", range(5, 9))]
    merged, reports = merge(
        {"a": market.frame(*known), "b": market.frame(*known), "c": market.frame(*contracts("BSXFUT", range(1, 9)))}
    )
    assert merged.height == 16
    assert reports["c"].contradicted == 8


def test_a_contract_whose_number_two_others_give_to_another_expiry_is_left_out(market):
    right, wrong = contracts("NIFTY", range(1, 10)), contracts("NIFTY", range(1, 10))
    wrong[0] = wrong[0] | {"expiry_date": "2026-11-30"}
    merged, reports = merge({"a": market.frame(*right), "b": market.frame(*right), "c": market.frame(*wrong)})
    assert "nse_equity_index_futures|NIFTY|2026-11-30" not in listed(merged)
    assert (reports["c"].rows, reports["c"].contradicted) == (8, 1)


def test_contracts_numbered_by_the_broker_itself_are_left_alone(market):
    right = contracts("NIFTY", range(1, 10))
    turned = [row | {"exchange_token": str(10 - place)} for place, row in enumerate(right, 1)]
    merged, reports = merge({"a": market.frame(*right), "b": market.frame(*right), "c": market.frame(*turned)})
    assert set(map(tuple, listed(merged).values())) == {("a", "b", "c")}
    assert reports["c"].contradicted == 0


# always ------------------------------------------------------------------------------------------------------------------

ROWS = st.fixed_dictionaries(
    {
        "exchange": st.sampled_from(["nse", "bse", "mcx", "unknown"]),
        "segment": st.sampled_from(
            ["equities", "exchange_traded_funds", "fixed_income", "equity_indices", "uncategorised"]
        ),
        "symbol": st.sampled_from(["AA", "BB", "A A", "CC-N1"]),
        "exchange_token": st.sampled_from([None, "1", "2", "3"]),
        "series": st.sampled_from([None, "EQ", "BE", "N1"]),
        "isin": st.sampled_from([None, RELIANCE, TCS]),
        "short_name": st.sampled_from([None, "AA", "BB"]),
        "basis": st.sampled_from([None, 0, 1, 2, 3, 4]),
    }
)


@searched(25, 80)
@given(files=st.lists(st.lists(ROWS, min_size=1, max_size=6), min_size=1, max_size=4), seed=st.integers(0, 99))
def test_whatever_files_say_an_id_is_one_natural_key_and_the_order_of_rows_does_not_matter(files, seed, market):
    numbered = [
        [{**row, "broker_token": str(place), "tradingsymbol": f"T{place}"} for place, row in enumerate(rows)]
        for rows in files
    ]
    shuffled = [random.Random(seed).sample(rows, len(rows)) for rows in numbered]
    merged, reports = merge({str(rank): market.frame(*rows) for rank, rows in enumerate(numbered)})
    again, counted = merge({str(rank): market.frame(*rows) for rank, rows in enumerate(shuffled)})
    assert merged.equals(again)
    assert reports == counted
    assert merged.height == (merged["instrument_id"].n_unique() if merged.height else 0)
    for code, report in reports.items():
        out = report.refused + report.ambiguous + report.contradicted
        assert report.rows <= len(files[int(code)]) <= report.rows + out
        assert sum(report.segments.values()) == report.rows
    counts = segment_counts(merged)
    assert sum(counts.values()) == merged.height
    if merged.height:
        assert counts == {name: merged.filter(segment=name).height for name in merged["segment"].unique().sort()}
        for listings in merged["listings"]:
            brokers = [listing["broker"] for listing in listings.to_list()]
            assert brokers == sorted(set(brokers))


@pytest.mark.parametrize("nothing", ["0", "00", "NA", "-"])
def test_what_stands_for_no_number_is_no_number(nothing, market):
    """Otherwise all rows without one would be one number's, and contradict each other."""
    names = ["AA", "BB", "CC"]
    frames = {code: market.frame(*(share(name, nothing, broker_token=name) for name in names)) for code in "ab"}
    merged, reports = merge(frames)
    assert listed(merged) == {f"nse_equities|{name}": ["a", "b"] for name in names}
    assert [(report.contradicted, report.matched) for report in reports.values()] == [(0, 0), (0, 0)]
