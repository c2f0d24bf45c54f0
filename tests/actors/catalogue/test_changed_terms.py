"""Mornings on which an exchange has moved an expiry or renamed an underlying: the numbers stay, and some brokers' files are of yesterday."""

from datetime import date

import pytest

from onebroker.actors.catalogue.contract_renames import EXPIRY, LOT_TOO, NAME, SEVERAL, STRIKE, of_contracts, renames_of
from onebroker.actors.catalogue.mapping_table import open_table, write_table
from onebroker.actors.catalogue.merge import merge
from onebroker.actors.catalogue.previous_mapping import Before
from onebroker.brokers.listings.frame import Basis

DAY = date(2025, 9, 1)
OLD, NEW, NEXT = "2025-09-25", "2025-09-30", "2025-10-28"
INDEX, SHARES = ("NIFTY",), ("RELIANCE", "INFY", "TCS")


def contract(number, underlying, expiry, strike=None, side=None, lot=75):
    bare = "equity_index" if underlying in INDEX else "equity"
    return {
        "segment": f"{bare}_futures" if strike is None else f"{bare}_options",
        "symbol": None,
        "underlying_symbol": underlying,
        "expiry_date": expiry,
        "strike_price": strike,
        "option_type": side,
        "lot_size": lot,
        "basis": Basis.STATED,
        "exchange_token": str(number),
        "broker_token": str(number),
    }


def contracts(expiry=OLD, names=None, strikes_less=0.0):
    """Futures of two months on four underlyings, options on the index and on one share; `names` are new names by old name."""
    called = {name: (names or {}).get(name, name) for name in (*INDEX, *SHARES)}
    rows = []
    for place, name in enumerate((*INDEX, *SHARES)):
        rows.append(contract(1000 + place, called[name], expiry))
        rows.append(contract(1100 + place, called[name], NEXT))
    for name, first, strike in (("NIFTY", 2000, 24_000.0), ("RELIANCE", 3000, 1_400.0)):
        for place in range(30):
            side = ("CE", "PE")[place % 2]
            less = strikes_less if name == "RELIANCE" else 0.0
            rows.append(contract(first + place, called[name], expiry, strike + 50 * (place // 2) - less, side))
            rows.append(contract(first + 500 + place, called[name], NEXT, strike + 50 * (place // 2) - less, side))
    # A small underlying beside forty others, so that a rename concerns few contracts.
    rows += [contract(6000 + place, f"OTHER{place}", NEXT) for place in range(40)]
    return [*rows, contract(5000, (names or {}).get("ZOMATO", "ZOMATO"), NEXT)]


def meanings(catalogue):
    """Number -> the terms under which the catalogue lists it, each with its brokers."""
    found = {}
    for row in catalogue.iter_rows(named=True):
        terms = (row["underlying_symbol"], row["expiry_date"], row["strike_price"], row["option_type"])
        for listing in row["listings"]:
            found.setdefault(listing["broker_token"], {}).setdefault(terms, []).append(listing["broker"])
    return found


@pytest.fixture
def written(market, tmp_path):
    """Writes the mapping of some files; gives its path."""

    def write(name, files):
        catalogue, _ = merge({code: market.frame(*rows) for code, rows in files.items()})
        write_table(catalogue, tmp_path / name)
        return tmp_path / name

    return write


@pytest.fixture
def built(market, tmp_path):
    """Merges files beside the mappings before; gives the catalogue and (old id, new id, source) of all renames."""

    def build(files, before, *older, day=DAY):
        witness = Before(before, day, older)
        catalogue, _ = merge({code: market.frame(*rows) for code, rows in files.items()}, witness)
        write_table(catalogue, tmp_path / "now")
        found = witness.adjustments(open_table(tmp_path / "now"))
        assert witness.trouble == ""
        return catalogue, renames_of(found, day)

    return build


def ids(path, market):
    rows = open_table(path).instruments
    terms = ("underlying_symbol", "expiry_date", "strike_price", "option_type")
    return {row["instrument_id"]: tuple(row[name] for name in terms) for row in rows.iter_rows(named=True)}


@pytest.mark.parametrize("newer", ["a", "c", "bc", "abc"])
def test_a_moved_expiry_has_one_id_and_is_followed_by_futures_and_options_of_index_and_shares(
    newer, market, written, built, tmp_path
):
    yesterday = written("before", dict.fromkeys("abc", contracts()))
    catalogue, renames = built({code: contracts(NEW if code in newer else OLD) for code in "abc"}, yesterday)
    found = meanings(catalogue)
    assert [terms for terms in found.values() if len(terms) != 1] == []
    assert {next(iter(found[str(number)]))[1] for number in (1000, 1001, 2000, 3000)} == {NEW}
    assert {tuple(sorted(next(iter(found[str(number)].values())))) for number in (1000, 1001, 2000, 3000)} == {
        tuple("abc")
    }
    assert sorted(next(iter(found["1100"].values()))) == list("abc")
    old, new = ids(yesterday, market), ids(tmp_path / "now", market)
    assert len(renames) == 4 + 60
    assert {rename.source for rename in renames} == {EXPIRY}
    assert of_contracts(renames) == tuple(renames)
    for rename in renames:
        name, expiry, *rest = old[rename.old_id]
        assert expiry == OLD
        assert new[rename.new_id] == (name, NEW, *rest)


def test_a_day_earlier_for_a_holiday_is_followed_in_a_market_with_one_underlying(written, built):
    def files(expiry):
        return [
            contract(1, "SENSEX", expiry),
            *(contract(10 + n, "SENSEX", expiry, 80_000.0 + 100 * n, "CE") for n in range(4)),
        ]

    yesterday = written("before", dict.fromkeys("abc", files("2025-10-02")))
    catalogue, renames = built(
        {code: files("2025-10-01" if code == "b" else "2025-10-02") for code in "abc"}, yesterday
    )
    assert {terms[1] for found in meanings(catalogue).values() for terms in found} == {"2025-10-01"}
    assert len(renames) == 5


@pytest.mark.parametrize("newer", ["a", "ab", "abcd"])
def test_a_renamed_underlying_has_one_id_and_is_followed_when_its_files_are_new(
    newer, market, written, built, tmp_path
):
    yesterday = written("before", dict.fromkeys("abcd", contracts()))
    files = {code: contracts(names={"ZOMATO": "ETERNAL"} if code in newer else {}) for code in "abcd"}
    catalogue, renames = built(files, yesterday)
    found = meanings(catalogue)
    assert [terms for terms in found.values() if len(terms) != 1] == []
    if newer == "a":  # the others still know the old name: one id, and the name follows with their files
        assert next(iter(found["5000"]))[0] == "ZOMATO"
        assert renames == []
        return
    assert next(iter(found["5000"]))[0] == "ETERNAL"
    (rename,) = renames
    assert rename.source == NAME
    assert ids(yesterday, market)[rename.old_id][0] == "ZOMATO"
    assert ids(tmp_path / "now", market)[rename.new_id][0] == "ETERNAL"


def listing(catalogue, number, broker):
    """The row of a number at a broker, with its listing there; None where the catalogue has none."""
    for row in catalogue.iter_rows(named=True):
        for one in row["listings"]:
            if (one["broker_token"], one["broker"]) == (str(number), broker):
                return row, one
    return None


def with_strikes(less):
    """The contracts, in a market so large that the options on one share are few."""
    others = [contract(10_000 + place, "NIFTY", NEXT, 40_000.0 + 50 * place, "CE") for place in range(600)]
    return [*contracts(strikes_less=less), *others]


@pytest.mark.parametrize("newer", ["b", "bc"])
def test_a_strike_that_a_late_file_does_not_know_is_listed_there_under_the_new_id(newer, written, built):
    yesterday = written("before", dict.fromkeys("abc", with_strikes(0.0)))
    catalogue, renames = built({code: with_strikes(10.0 if code in newer else 0.0) for code in "abc"}, yesterday)
    assert meanings(catalogue)["3000"] == {("RELIANCE", OLD, 1_390.0, "CE"): ["a", "b", "c"]}
    assert {rename.source for rename in renames} == {STRIKE}


def test_a_new_name_that_a_late_file_does_not_know_is_listed_there_under_the_new_id(written, built):
    yesterday = written("before", dict.fromkeys("abc", contracts()))
    new = contracts(names={"ZOMATO": "ETERNAL"})
    catalogue, renames = built({"a": new, "b": new, "c": contracts()}, yesterday)
    assert meanings(catalogue)["5000"] == {("ETERNAL", NEXT, None, None): ["a", "b", "c"]}
    assert [rename.source for rename in renames] == [NAME]


@pytest.mark.parametrize("change", [{"expiry": NEW}, {"strikes_less": 10.0}])
def test_a_file_that_is_late_on_the_second_morning_is_still_listed_under_the_new_id(change, written, built):
    first = written("first", dict.fromkeys("abc", contracts()))
    second = written("second", dict.fromkeys("abc", contracts(**change)))
    catalogue, renames = built({"a": contracts(**change), "b": contracts(), "c": contracts()}, second, first)
    assert {tuple(brokers) for brokers in meanings(catalogue)["3000"].values()} == {tuple("abc")}
    assert renames == []


def test_the_lot_of_a_late_file_does_not_count_where_the_lot_has_changed(written, built):
    yesterday = written("before", dict.fromkeys("abc", contracts()))
    new = [row | {"lot_size": 65, "contract_units": 1} for row in contracts(NEW)]
    units = [row | {"contract_units": 75} for row in contracts()]
    catalogue, renames = built({"a": contracts(), "b": new, "c": units}, yesterday)
    row, late = listing(catalogue, 2000, "a")
    assert (row["expiry_date"], row["lot_size"], late["lot_size"]) == (NEW, 65, None)
    _, in_lots = listing(catalogue, 2000, "c")
    assert (in_lots["lot_size"], in_lots["contract_units"]) == (None, 65)
    assert {rename.source for rename in renames} == {EXPIRY + LOT_TOO}


def test_a_late_row_whose_token_was_not_known_before_is_left_out(written, built):
    yesterday = written("before", {"a": contracts(), "b": contracts(), "c": contracts()[1:]})
    catalogue, _ = built({"a": contracts(NEW), "b": contracts(NEW), "c": contracts()}, yesterday)
    assert meanings(catalogue)["1000"] == {("NIFTY", NEW, None, None): ["a", "b"]}


def test_a_late_file_that_lists_the_new_terms_too_has_two_contracts(written, built):
    """Its row under the number is left out; its other row is the only one that can be meant."""
    yesterday = written("before", dict.fromkeys("abc", contracts()))
    both = [*contracts(), contract(9000, "NIFTY", NEW)]
    catalogue, _ = built({"a": contracts(NEW), "b": contracts(NEW), "c": both}, yesterday)
    assert meanings(catalogue)["1000"] == {("NIFTY", NEW, None, None): ["a", "b"]}
    assert listing(catalogue, 9000, "c")[0]["expiry_date"] == NEW


def test_a_contract_that_a_file_still_lists_beside_the_changed_one_keeps_its_late_listing_out(written, built):
    """The new file has the former expiry under another number: what the late row means is not sure."""
    yesterday = written("before", dict.fromkeys("abc", contracts()))
    beside = [*contracts(NEW), contract(9000, "NIFTY", OLD)]
    catalogue, _ = built({"a": beside, "b": contracts(NEW), "c": contracts()}, yesterday)
    assert meanings(catalogue)["1000"] == {("NIFTY", NEW, None, None): ["a", "b"]}
    assert meanings(catalogue)["1001"] == {("RELIANCE", NEW, None, None): ["a", "b", "c"]}


def test_the_late_listing_of_a_strike_that_is_listed_anew_is_left_out(written, built):
    """An order by the symbol of yesterday's file could reach the new contract with the old strike."""
    yesterday = written("before", dict.fromkeys("abc", with_strikes(0.0)))
    beside = [*with_strikes(10.0), contract(9000, "RELIANCE", OLD, 1_400.0, "CE")]
    catalogue, renames = built({"a": beside, "b": beside, "c": with_strikes(0.0)}, yesterday)
    found = meanings(catalogue)
    assert found["3000"] == {("RELIANCE", OLD, 1_390.0, "CE"): ["a", "b"]}
    assert found["3001"] == {("RELIANCE", OLD, 1_390.0, "PE"): ["a", "b", "c"]}
    assert found["9000"] == {("RELIANCE", OLD, 1_400.0, "CE"): ["a", "b"]}
    assert {rename.source for rename in renames} == {STRIKE}


@pytest.mark.parametrize("change", [{"expiry": NEW}, {"strikes_less": 10.0}])
def test_a_file_that_is_late_on_the_second_morning_too_is_no_news(change, written, built):
    """The mapping before knows the change already; what the late file says is what the mapping before that said."""
    first = written("first", dict.fromkeys("abc", contracts()))
    second = written("second", {"a": contracts(**change)})
    catalogue, renames = built({"a": contracts(**change), "b": contracts(**change), "c": contracts()}, second, first)
    found = meanings(catalogue)
    assert [terms for terms in found.values() if len(terms) != 1] == []
    assert sorted(next(iter(found["3000"].values()))) == ["a", "b"]
    assert renames == []
    catalogue, renames = built({"a": contracts(**change), "c": contracts()}, second, first)
    assert [terms for terms in meanings(catalogue).values() if len(terms) != 1] == []
    assert renames == []


def test_the_number_of_an_expired_contract_is_a_new_contract(written, built):
    yesterday = written("before", dict.fromkeys("abc", contracts("2025-08-29")))
    catalogue, renames = built({code: contracts("2025-09-02") for code in "abc"}, yesterday)
    assert renames == []
    assert next(iter(meanings(catalogue)["1000"]))[1] == "2025-09-02"


@pytest.mark.parametrize("alone", [True, False])
def test_a_number_that_now_names_another_month_or_a_neighbour_is_no_succession(alone, written, built):
    """Of a broker with its own numbering, all of whose tokens moved by a place."""
    code = "a" if alone else "abc"
    before = [contract(n, name, NEXT, 1000.0, "CE") for n, name in enumerate(("ACC", "BOSCH", "CIPLA", "DLF"), 100)]
    after = [contract(n, name, NEXT, 1000.0, "CE") for n, name in enumerate(("ABB", "ACC", "BOSCH", "CIPLA"), 100)]
    months = [contract(1, "NIFTY", OLD), contract(2, "NIFTY", NEXT)]
    later = [contract(1, "NIFTY", NEXT), contract(2, "NIFTY", "2025-11-25")]
    yesterday = written("before", {key: [*before, *months] for key in code})
    _, renames = built({key: [*after, *later] for key in code}, yesterday)
    assert renames == []


def test_one_broker_whose_dates_are_all_a_day_off_is_wrong_not_new(written, built):
    yesterday = written("before", dict.fromkeys("abc", contracts()))
    off = [row | {"expiry_date": {OLD: "2025-09-26", NEXT: "2025-10-29"}[row["expiry_date"]]} for row in contracts()]
    catalogue, renames = built({"a": off, "b": contracts(), "c": contracts()}, yesterday)
    assert {terms[1] for found in meanings(catalogue).values() for terms in found if "b" in found[terms]} == {OLD, NEXT}
    assert renames == []


def test_one_odd_expiry_of_one_broker_is_outvoted(written, built):
    yesterday = written("before", dict.fromkeys("abc", contracts()))
    odd = [row | ({"expiry_date": NEW} if row["broker_token"] == "1001" else {}) for row in contracts()]
    catalogue, renames = built({"a": odd, "b": contracts(), "c": contracts()}, yesterday)
    assert meanings(catalogue)["1001"] == {("RELIANCE", OLD, None, None): ["b", "c"]}
    assert renames == []


def test_the_source_tells_what_changed(written, built):
    rows = [
        contract(1, "NIFTY", OLD),
        contract(2, "NIFTY", OLD, 24_000.0, "CE"),
        contract(3, "RELIANCE", NEXT, 1_400.0, "CE"),
    ]
    now = [
        contract(1, "NIFTY", NEW, lot=65),
        contract(2, "NIFTY", NEW, 23_990.0, "CE"),
        contract(3, "RELIANCE", NEXT, 1_390.0, "CE"),
    ]
    yesterday = written("before", dict.fromkeys("ab", rows))
    _, renames = built(dict.fromkeys("ab", now), yesterday)
    assert sorted(rename.source for rename in renames) == sorted([EXPIRY + LOT_TOO, SEVERAL, STRIKE])
