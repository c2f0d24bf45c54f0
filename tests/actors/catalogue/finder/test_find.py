"""What `find` finds first: a table of queries over a small market with the names of the real one."""

import functools
import itertools
from datetime import date

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.catalogue.contract_list import ContractList
from onebroker.actors.catalogue.finder.find import Finder
from onebroker.actors.catalogue.merge import merge
from onebroker.actors.catalogue.snapshot import TableSnapshot
from onebroker.brokers.listings.frame import listing_frame
from tests.support.further import searched

DAY = date(2026, 11, 26)
WEEKS = ("2026-12-01", "2026-12-08", "2026-12-15", "2026-12-22", "2026-12-29", "2027-01-26")
MONTHS = ("2026-12-29", "2027-01-26")
COMPANIES = {
    "RELIANCE": ("RELIANCE INDUSTRIES LTD", "INE002A01018"), "INFY": ("INFOSYS LIMITED", "INE009A01021"),
    "TCS": ("TATA CONSULTANCY SERVICES LTD", "INE467B01029"), "TATAMOTORS": ("TATA MOTORS LIMITED", "INE155A01022"),
    "TATASTEEL": ("TATA STEEL LIMITED", "INE081A01020"), "SBIN": ("STATE BANK OF INDIA", "INE062A01020"),
    "HDFCBANK": ("HDFC BANK LTD", "INE040A01034"), "M&M": ("MAHINDRA & MAHINDRA LTD", "INE101A01026"),
    "BAJAJ-AUTO": ("BAJAJ AUTO LIMITED", "INE917I01010"), "RPOWER": ("RELIANCE POWER LTD", "INE614G01033"),
    "BSE": ("BSE LIMITED", "INE118H01025"), "MCX": ("MULTI COMMODITY EXCHANGE OF INDIA", "INE745G01035"),
    "MARUTI": ("MARUTI SUZUKI INDIA LTD", "INE585B01010"), "FRETAIL": ("FUTURE RETAIL LIMITED", "INE752P01024"),
    "ULTRACEMCO": ("ULTRATECH CEMENT LIMITED", "INE481G01011"), "360ONE": ("360 ONE WAM LIMITED", "INE466L01038"),
}  # fmt: skip


def securities():
    for symbol, (name, isin) in COMPANIES.items():
        for exchange in ("nse",) if symbol in ("BSE", "MCX") else ("nse", "bse"):
            yield {"exchange": exchange, "segment": "equities", "symbol": symbol, "name": name, "isin": isin}
    for index in ("NIFTY 50", "NIFTY BANK", "NIFTY FIN SERVICE", "NIFTY NEXT 50", "INDIA VIX"):
        yield {"exchange": "nse", "segment": "equity_indices", "symbol": index, "name": index}
    name = "NIPPON INDIA ETF NIFTY 50 BEES"
    yield {"exchange": "nse", "segment": "exchange_traded_funds", "symbol": "NIFTYBEES", "name": name}


def derivatives(underlying, exchange, head, expiries, strikes, futures=MONTHS):
    of = {"exchange": exchange, "underlying_symbol": underlying}
    for expiry in futures:
        yield {**of, "segment": f"{head}_futures", "expiry_date": expiry}
    for expiry, strike, kind in itertools.product(expiries, strikes, ("CE", "PE")):
        yield {
            **of, "segment": f"{head}_options", "expiry_date": expiry, "strike_price": float(strike), "option_type": kind,
        }  # fmt: skip


@functools.cache
def mapped():
    rows = [
        *securities(),
        *derivatives("NIFTY", "nse", "equity_index", WEEKS, range(24000, 28001, 50)),
        *derivatives("BANKNIFTY", "nse", "equity_index", MONTHS, range(50000, 60001, 100)),
        *derivatives("SENSEX", "bse", "equity_index", ("2026-12-03", "2026-12-31"), range(80000, 90001, 100), ()),
        *derivatives("RELIANCE", "nse", "equity", MONTHS, range(1200, 1700, 20)),
        *derivatives("M&M", "nse", "equity", MONTHS, range(3000, 4000, 50)),
        *derivatives("GOLD", "mcx", "commodity", ("2026-12-28",), range(100000, 140000, 1000), ("2027-02-05",)),
        *derivatives("USDINR", "nse", "currency", ("2026-12-29",), range(85, 95), ("2026-12-29",)),
    ]
    full = [{"broker_token": str(number), "tradingsymbol": f"T{number}", **row} for number, row in enumerate(rows)]
    frame = merge({"zerodha": listing_frame(pl.DataFrame(full, infer_schema_length=None))})[0]
    snapshot = TableSnapshot(frame, DAY)
    snapshot.build_finder()
    return snapshot


def found(query, limit=20, today=DAY):
    """Return (text of the identity, score) of each result."""
    search = mapped().finder.search(query, limit, today)
    for _ in search:
        pass
    identities = ((mapped().at(row.row).identity, row.score) for row in search.rows)
    return [
        (" ".join(identity.natural_key.replace("|", " ").split(" ")[3:]) + f" @{identity.exchange}", score)
        for identity, score in identities
    ]


FIRST = [
    # symbols
    ("reliance", "RELIANCE @nse"), ("RELIANCE", "RELIANCE @nse"), ("infy", "INFY @nse"), ("tcs", "TCS @nse"),
    ("m&m", "M&M @nse"), ("mm", "M&M @nse"), ("m & m", "M&M @nse"), ("bajaj-auto", "BAJAJ-AUTO @nse"),
    ("bajaj auto", "BAJAJ-AUTO @nse"), ("bajajauto", "BAJAJ-AUTO @nse"), ("360 one", "360ONE @nse"), ("nifty bees", "NIFTYBEES @nse"),
    # beginnings
    ("relia", "RELIANCE @nse"), ("hdfc", "HDFCBANK @nse"), ("maru", "MARUTI @nse"), ("mar", "MARUTI @nse"), ("ultra", "ULTRACEMCO @nse"),
    # companies
    ("infosys", "INFY @nse"), ("state bank", "SBIN @nse"), ("state bank of india", "SBIN @nse"), ("tata motors", "TATAMOTORS @nse"),
    ("tata consultancy", "TCS @nse"), ("mahindra", "M&M @nse"), ("reliance industries", "RELIANCE @nse"),
    ("reliance power", "RPOWER @nse"), ("reliance power limited", "RPOWER @nse"), ("future retail", "FRETAIL @nse"),
    ("ultratech cement", "ULTRACEMCO @nse"),
    # ISINs
    ("INE002A01018", "RELIANCE @nse"), ("ine009a01021", "INFY @nse"), ("INE467B", "TCS @nse"),
    # typos
    ("relaince", "RELIANCE @nse"), ("relianec", "RELIANCE @nse"), ("rliance", "RELIANCE @nse"), ("relliance", "RELIANCE @nse"),
    ("infosis", "INFY @nse"), ("infosyss", "INFY @nse"), ("imfosys", "INFY @nse"), ("hdfcbenk", "HDFCBANK @nse"),
    ("marruti suzki", "MARUTI @nse"), ("stat bnak", "SBIN @nse"), ("relaince industris", "RELIANCE @nse"),
    ("tata moters", "TATAMOTORS @nse"), ("nify", "NIFTY 50 @nse"), ("bankifty fut", "BANKNIFTY 2026-12-29 @nse"),
    ("ultratek", "ULTRACEMCO @nse"), ("consultency", "TCS @nse"),
    # inside a word
    ("cemco", "ULTRACEMCO @nse"), ("steel", "TATASTEEL @nse"),
    # exchanges and segments
    ("reliance bse", "RELIANCE @bse"), ("bse reliance", "RELIANCE @bse"), ("bse", "BSE @nse"), ("mcx", "MCX @nse"),
    ("nifty index", "NIFTY 50 @nse"), ("nifty 50", "NIFTY 50 @nse"), ("nifty50", "NIFTY 50 @nse"), ("nifty next 50", "NIFTY NEXT 50 @nse"),
    ("nifty etf", "NIFTYBEES @nse"), ("reliance eq", "RELIANCE @nse"), ("usdinr currency fut", "USDINR 2026-12-29 @nse"),
    ("usd inr fut", "USDINR 2026-12-29 @nse"), ("cds usdinr fut", "USDINR 2026-12-29 @nse"),
    # futures
    ("reliance fut", "RELIANCE 2026-12-29 @nse"), ("nifty future", "NIFTY 2026-12-29 @nse"), ("nifty jan fut", "NIFTY 2027-01-26 @nse"),
    ("nifty next fut", "NIFTY 2027-01-26 @nse"), ("gold", "GOLD 2026-12-28 120000 CE @mcx"), ("gold fut", "GOLD 2027-02-05 @mcx"),
    ("mcx gold feb", "GOLD 2027-02-05 @mcx"), ("bank nifty", "NIFTY BANK @nse"), ("bank nifty fut", "BANKNIFTY 2026-12-29 @nse"),
    ("nfo reliance fut jan", "RELIANCE 2027-01-26 @nse"), ("m&m fut", "M&M 2026-12-29 @nse"), ("RELIANCE26DECFUT", "RELIANCE 2026-12-29 @nse"),
    # options
    ("nifty 25000 ce", "NIFTY 2026-12-01 25000 CE @nse"), ("nifty 25000 ce dec", "NIFTY 2026-12-01 25000 CE @nse"),
    ("25000 ce nifty", "NIFTY 2026-12-01 25000 CE @nse"), ("nifty 25,000 call", "NIFTY 2026-12-01 25000 CE @nse"),
    ("nifty 25000ce", "NIFTY 2026-12-01 25000 CE @nse"), ("nifty25000ce", "NIFTY 2026-12-01 25000 CE @nse"),
    ("nifty 25000 put 8 dec", "NIFTY 2026-12-08 25000 PE @nse"), ("nifty 8dec 25000 pe", "NIFTY 2026-12-08 25000 PE @nse"),
    ("nifty 2026-12-15 25000 pe", "NIFTY 2026-12-15 25000 PE @nse"), ("nifty 15-12-2026 25000 pe", "NIFTY 2026-12-15 25000 PE @nse"),
    ("nifty 15dec26 25000 pe", "NIFTY 2026-12-15 25000 PE @nse"), ("nifty dec 15 25000 pe", "NIFTY 2026-12-15 25000 PE @nse"),
    ("nifty monthly 25000 ce", "NIFTY 2026-12-29 25000 CE @nse"), ("nifty weekly 25000 ce", "NIFTY 2026-12-01 25000 CE @nse"),
    ("nifty next 25000 ce", "NIFTY 2026-12-08 25000 CE @nse"), ("nifty next monthly 25000 ce", "NIFTY 2027-01-26 25000 CE @nse"),
    ("nifty next weekly 25000 ce", "NIFTY 2026-12-08 25000 CE @nse"), ("nifty jan 2027 25000 ce", "NIFTY 2027-01-26 25000 CE @nse"),
    ("nifty 27jan 25000 ce", "NIFTY 2027-01-26 25000 CE @nse"), ("NIFTY26DEC25000CE", "NIFTY 2026-12-01 25000 CE @nse"),
    ("banknifty 55000 pe", "BANKNIFTY 2026-12-29 55000 PE @nse"), ("bank nifty 55000 pe jan", "BANKNIFTY 2027-01-26 55000 PE @nse"),
    ("sensex 31 dec 85000 pe", "SENSEX 2026-12-31 85000 PE @bse"), ("reliance 1400 ce", "RELIANCE 2026-12-29 1400 CE @nse"),
    ("reliance industries 1400 ce", "RELIANCE 2026-12-29 1400 CE @nse"), ("relaince 1400 ce", "RELIANCE 2026-12-29 1400 CE @nse"),
    ("nifty 2500", "NIFTY 2026-12-01 25000 CE @nse"), ("25000 ce", "NIFTY 2026-12-01 25000 CE @nse"), ("sensex 85000", "SENSEX 2026-12-03 85000 CE @bse"),
    ("usdinr 88 ce", "USDINR 2026-12-29 88 CE @nse"),
]  # fmt: skip
NOTHING = [
    "xyzzyq",
    "nifty 99999 ce",
    "nifty 1 may",
    "tcs fut",
    "reliance mcx",
    "sensex weekly monthly",
    "!!!",
    "'",
    "nifty 50 25000.5 ce",
]


@pytest.mark.parametrize(("query", "first"), FIRST)
def test_the_first_result(query, first):
    results = found(query)
    assert results, query
    assert results[0][0] == first


@pytest.mark.parametrize("query", NOTHING)
def test_what_fits_nothing_finds_nothing(query):
    assert found(query) == []


def test_the_whole_symbol_scores_one_and_everything_else_less():
    scores = dict(found("reliance", 200))
    assert scores["RELIANCE @nse"] == scores["RELIANCE @bse"] == scores["RELIANCE 2026-12-29 @nse"] == 1
    assert 0 < scores["RPOWER @nse"] < 1
    assert 0 < found("relaince")[0][1] < found("relianc")[0][1] < 1


def test_scores_fall_and_cash_comes_before_derivatives_of_the_same_score():
    results = found("reliance", 12)
    assert [score for _, score in results] == sorted((score for _, score in results), reverse=True)
    names = [name for name, _ in results]
    assert names[:3] == ["RELIANCE @nse", "RELIANCE @bse", "RELIANCE 2026-12-29 @nse"]


def test_a_name_without_wishes_leaves_room_for_other_names_and_fills_up_with_its_contracts():
    names = [name for name, _ in found("reliance", 10)]
    assert "RPOWER @nse" in names
    many = found("reliance", 100)
    assert len(many) == 100
    assert [name for name, _ in many[:10]] == names


def test_options_without_a_strike_begin_in_the_middle_of_the_listed_strikes():
    assert [name for name, _ in found("nifty weekly opt", 4)] == [
        "NIFTY 2026-12-01 26000 CE @nse",
        "NIFTY 2026-12-01 26000 PE @nse",
        "NIFTY 2026-12-01 26050 CE @nse",
        "NIFTY 2026-12-01 26050 PE @nse",
    ]


def test_contracts_that_have_expired_come_last():
    names = [name for name, _ in found("nifty 25000 ce", today=date(2026, 12, 10))]
    assert names[0].startswith("NIFTY 2026-12-15")
    assert [name[:16] for name in names[-2:]] == ["NIFTY 2026-12-01", "NIFTY 2026-12-08"]


def test_the_limit_holds():
    assert [len(found("nifty", limit)) for limit in (1, 7, 200)] == [1, 7, 200]


@pytest.mark.parametrize(
    ("rows", "query", "names"),
    [
        ([], "a", []), ([{"symbol": "A"}], "a", ["A"]), ([{"symbol": "A"}], "reliance", []), ([{"symbol": "&&"}, {"symbol": "B"}], "b", ["B"]),
        ([{"segment": "equity_futures", "underlying_symbol": "X", "expiry_date": "2026-12-29"}], "x", ["X"]),
    ],
)  # fmt: skip
def test_a_mapping_of_any_size_is_searched(rows, query, names):
    usual = {"exchange": "nse", "segment": "equities"}
    full = [
        {"broker_token": str(number), "tradingsymbol": "T", **usual, **row}
        for number, row in enumerate(rows or [{"symbol": "Z"}])
    ]
    frame = merge({"zerodha": listing_frame(pl.DataFrame(full, infer_schema_length=None))})[0]
    frame = frame.head(len(rows))
    search = Finder(frame, ContractList(frame)).search(query, 20, DAY)
    for _ in search:
        pass
    assert [frame["symbol"][row.row] or frame["underlying_symbol"][row.row] for row in search.rows] == names


@searched(200, 2000)
@given(
    st.one_of(
        st.text(max_size=60),
        st.lists(
            st.sampled_from(["nifty", "bank", "25000", "ce", "pe", "dec", "26dec", "weekly", "next", "bse", "fut", "reliance", "industris", "2026-12-31", "50", ".", "-", "f&o"]), max_size=14
        ).map(" ".join),
    )
)  # fmt: skip
def test_any_text_is_answered_without_a_row_twice(query):
    rows = found(query)
    assert len({name for name, _ in rows}) == len(rows) <= 20
    assert all(0 < score <= 1 for _, score in rows)


SYMBOLS = st.sampled_from([symbol for symbol in COMPANIES if len(symbol) >= 6 and symbol.isalpha()])


@searched(100, 1000)
@given(SYMBOLS, st.data())
def test_a_symbol_with_one_typo_is_found(symbol, data):
    place = data.draw(st.integers(0, len(symbol) - 2))
    letter = data.draw(st.sampled_from("QXZ"))
    typo = data.draw(
        st.sampled_from(
            [
                symbol[:place] + symbol[place + 1 :],
                symbol[:place] + letter + symbol[place:],
                symbol[:place] + letter + symbol[place + 1 :],
                symbol[:place] + symbol[place + 1] + symbol[place] + symbol[place + 2 :],
            ]
        )
    )
    assert f"{symbol} @nse" in [name for name, _ in found(typo)]
