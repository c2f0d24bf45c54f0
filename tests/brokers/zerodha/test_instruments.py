"""Kite's instrument file: the recorded extract, a file of every kind, broken rows, and the simulator's universe."""

import csv
import io
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.listings.frame import EVIDENCE_COLUMNS, LISTING_COLUMNS
from onebroker.brokers.requests import BadAnswer
from onebroker.brokers.simulator.dialects.zerodha.naming import instrument_file, name_of
from onebroker.brokers.simulator.world.universe import build_universe
from onebroker.brokers.zerodha import instruments
from onebroker.config.instruments import IDENTITY_FIELDS, SEGMENT_SHAPES
from tests.support.further import searched

DATA = Path(__file__).resolve().parents[2] / "data" / "zerodha"
HEADER = (
    "instrument_token,exchange_token,tradingsymbol,name,last_price,expiry,strike,tick_size,lot_size,instrument_type,"
    "segment,exchange\n"
)


def read(*lines):
    frame = instruments.read_files([(HEADER + "\n".join(lines) + "\n").encode()])
    return {row["tradingsymbol"]: row for row in frame.iter_rows(named=True)}


def test_the_recorded_extract_is_read_to_the_last_row():
    frame = instruments.read_files([(DATA / "instruments_all.csv").read_bytes()])
    assert frame.columns[: len(LISTING_COLUMNS)] == list(LISTING_COLUMNS)
    raw = {f"raw.{name}" for name in instruments.RAW_COLUMNS}
    assert set(frame.columns[len(LISTING_COLUMNS) :]) == raw | set(EVIDENCE_COLUMNS)
    counts = dict(frame.group_by("segment").len().iter_rows())
    assert counts == {
        "equities": 48, "uncategorised": 15, "equity_index_options": 12, "equity_options": 13, "fixed_income": 6,
        "exchange_traded_funds": 3, "mutual_funds": 2,
    }  # fmt: skip
    rows = {row["tradingsymbol"]: row for row in frame.iter_rows(named=True)}
    bank = rows["BANKNIFTY18JAN23500CE"]
    assert (bank["underlying_symbol"], bank["expiry_date"], bank["strike_price"], bank["option_type"]) == (
        "BANKNIFTY", "2018-01-25", 23500.0, "CE",
    )  # fmt: skip
    assert (bank["symbol"], bank["lot_size"], bank["tick_size"], bank["broker_token"]) == (None, 40, 0.05, "12073986")
    assert rows["ADANIPORTS17DEC490PE"]["segment"] == "equity_options"
    assert (rows["CENTRALBK-BE"]["symbol"], rows["CENTRALBK-BE"]["segment"]) == ("CENTRALBK", "equities")
    # Which of a share's series has its symbol is told by all brokers' files together.
    assert [(rows[name]["symbol"], rows[name]["series"]) for name in ("CDSL", "CDSL-BE", "CDSL-BL")] == [
        ("CDSL", "EQ"), ("CDSL", "BE"), ("CDSL-BL", "BL"),
    ]  # fmt: skip
    assert (rows["CDSL"]["exchange_token"], rows["CDSL-BL"]["words"]) == ("21174", "NSE NSE EQ BL")
    assert rows["HUDCO-N8"]["segment"] == rows["828GOI27-ML"]["segment"] == "fixed_income"
    assert rows["IVZINGOLD"]["segment"] == rows["BANKBEES"]["segment"] == "exchange_traded_funds"
    assert all(row["isin"] is None and row["freeze_quantity"] is None for row in rows.values())


def test_an_index_contract_is_told_from_a_share_contract_by_the_files_own_rows():
    rows = read(
        "256265,1001,NIFTY 50,NIFTY 50,0,,0,0,0,EQ,INDICES,NSE",
        "408065,1594,INFY,INFOSYS,0,,0,0.05,1,EQ,NSE,NSE",
        "2306,9,DESH 50,DESH 50,0,,0,0,0,EQ,INDICES,NSE",
        "5001,19,BANKDESHI,BANK OF DESH,0,,0,0.05,1,EQ,NSE,NSE",
        "8961026,35004,NIFTY26NOVFUT,NIFTY,0,2026-11-24,0,0.05,75,FUT,NFO-FUT,NFO",
        "8961282,35005,NIFTY26N0326000CE,NIFTY,0,2026-11-03,26000,0.05,75,CE,NFO-OPT,NFO",
        "8961538,35006,INFY26NOVFUT,INFY,0,2026-11-24,0,0.05,400,FUT,NFO-FUT,NFO",
        "8961794,35007,FINDESH26NOVFUT,FINDESH,0,2026-11-24,0,0.05,65,FUT,NFO-FUT,NFO",
        "8962050,35008,BANKDESHI26NOVFUT,BANKDESHI,0,2026-11-24,0,0.05,65,FUT,NFO-FUT,NFO",
    )
    assert {symbol: row["segment"] for symbol, row in rows.items()} == {
        "NIFTY 50": "equity_indices", "INFY": "equities", "DESH 50": "equity_indices", "BANKDESHI": "equities",
        "NIFTY26NOVFUT": "equity_index_futures", "NIFTY26N0326000CE": "equity_index_options",
        "INFY26NOVFUT": "equity_futures", "FINDESH26NOVFUT": "equity_index_futures",
        "BANKDESHI26NOVFUT": "equity_futures",
    }  # fmt: skip


def test_units_per_lot_are_known_or_unknown_and_never_one():
    rows = read(
        "1,1,USDINR26NOVFUT,USDINR,0,2026-11-26,0,0.0025,1,FUT,CDS-FUT,CDS",
        "2,2,USDINR26NOV88.5CE,USDINR,0,2026-11-26,88.5,0.0025,1,CE,CDS-OPT,CDS",
        "3,3,679GS203426NOVFUT,679GS2034,0,2026-11-26,0,0.0025,1,FUT,CDS-FUT,CDS",
        "4,4,CRUDEOIL26NOVFUT,CRUDEOIL,0,2026-11-19,0,1,1,FUT,MCX-FUT,MCX",
        "5,5,SAFFRON26NOVFUT,SAFFRON,0,2026-11-19,0,1,1,FUT,MCX-FUT,MCX",
        "6,6,GOLD26NOVFUT,GOLD,0,2026-11-19,0,1,1,FUT,NCO-FUT,NCO",
    )
    assert {symbol: (row["segment"], row["lot_size"], row["contract_units"]) for symbol, row in rows.items()} == {
        "USDINR26NOVFUT": ("currency_futures", 1000, 1000),
        "USDINR26NOV88.5CE": ("currency_options", 1000, 1000),
        "679GS203426NOVFUT": ("fixed_income_futures", None, None),
        "CRUDEOIL26NOVFUT": ("commodity_futures", 100, 100),
        "SAFFRON26NOVFUT": ("commodity_futures", None, None),
        "GOLD26NOVFUT": ("commodity_futures", None, None),
    }
    assert rows["USDINR26NOV88.5CE"]["strike_price"] == 88.5


def test_series_and_names_tell_bonds_trusts_and_funds_from_shares():
    rows = read(
        "1,1,SGBDEC31-GB,GOLD BONDS,0,,0,0.01,1,EQ,NSE,NSE",
        "2,2,IRFC-N1,IRFC,0,,0,0.01,1,EQ,NSE,NSE",
        "3,3,IRFC-N2,IRFC,0,,0,0.01,1,EQ,NSE,NSE",
        "4,4,MINDSPACE-RR,MINDSPACE BUSINESS PARKS REIT,0,,0,0.01,1,EQ,NSE,NSE",
        "5,5,INDIGRID-IV,INDIA GRID TRUST,0,,0,0.01,1,EQ,NSE,NSE",
        "6,6,SETFNIF50,SBI-ETF NIFTY 50,0,,0,0.01,1,EQ,NSE,NSE",
        "7,7,BAJAJ-AUTO,BAJAJ AUTO,0,,0,0.05,1,EQ,NSE,NSE",
        "8,8,M&M,MAHINDRA,0,,0,0.05,1,EQ,NSE,NSE",
        "9,9,SPX,S&P 500,0,,0,0.05,1,EQ,GLOBAL,GLOBAL",
        "10,10,NIFTY GS 10YR,NIFTY GS 10YR,0,,0,0,0,EQ,INDICES,NSE",
        "11,11,SMALLCO-SM,SMALL COMPANY,0,,0,0.05,1000,EQ,NSE,NSE",
    )
    assert {symbol: (row["segment"], row["symbol"]) for symbol, row in rows.items()} == {
        "SGBDEC31-GB": ("fixed_income", "SGBDEC31"),
        "IRFC-N1": ("fixed_income", "IRFC-N1"),
        "IRFC-N2": ("fixed_income", "IRFC-N2"),
        "MINDSPACE-RR": ("investment_trusts", "MINDSPACE"),
        "INDIGRID-IV": ("investment_trusts", "INDIGRID"),
        "SETFNIF50": ("exchange_traded_funds", "SETFNIF50"),
        "BAJAJ-AUTO": ("equities", "BAJAJ-AUTO"),
        "M&M": ("equities", "M&M"),
        "SPX": ("uncategorised", "SPX"),
        "NIFTY GS 10YR": ("fixed_income_indices", "NIFTY GS 10YR"),
        "SMALLCO-SM": ("equities", "SMALLCO"),
    }
    assert rows["SPX"]["exchange"] == "unknown"


def test_one_bad_row_costs_that_row_only():
    rows = read(
        "408065,1594,INFY,INFOSYS,0,,0,0.05,1,EQ,NSE,NSE",
        ",1,NOTOKEN,X,0,,0,0.05,1,EQ,NSE,NSE",
        "NaN,1,BADTOKEN,X,0,,0,0.05,1,EQ,NSE,NSE",
        "7,1,,NOSYMBOL,0,,0,0.05,1,EQ,NSE,NSE",
        "408065,1594,DOUBLE,INFOSYS,0,,0,0.05,1,EQ,NSE,NSE",
        "8,1,BLANKS,,,,,,,EQ,NSE,NSE",
        "9,1,NODATE26NOVFUT,NODATE,0,soon,0,0.05,75,FUT,NFO-FUT,NFO",
        "10,1,NOSTRIKE26NOVCE,NOSTRIKE,0,2026-11-24,0,0.05,75,CE,NFO-OPT,NFO",
        "11,1,NEGATIVE,X,0,,0,-1,0,EQ,NSE,NSE",
        "12,1",
    )
    assert set(rows) == {"INFY", "BLANKS", "NODATE26NOVFUT", "NOSTRIKE26NOVCE", "NEGATIVE"}
    assert rows["NODATE26NOVFUT"]["segment"] == rows["NOSTRIKE26NOVCE"]["segment"] == "uncategorised"
    assert rows["NODATE26NOVFUT"]["symbol"] == "NODATE26NOVFUT"
    assert (rows["BLANKS"]["lot_size"], rows["BLANKS"]["tick_size"]) == (None, None)
    assert (rows["NEGATIVE"]["lot_size"], rows["NEGATIVE"]["tick_size"]) == (None, None)


CELLS = st.sampled_from(
    ["", "0", "1", "408065", "NaN", "2026-11-24", "24-Nov-2026", "88.5", "EQ", "FUT", "CE", "PE", "NFO-OPT", "CDS-FUT", "NSE",
     "NFO", "CDS", "MCX", "INDICES", "X-BE", "X-", "-N1", "CE", "USDINR", "NIFTY", "1e400", "-1"]
) | st.text(st.characters(exclude_characters="\n\r"), max_size=12)  # fmt: skip


@searched(40, 100)
@given(st.lists(st.lists(CELLS, min_size=1, max_size=14), max_size=6))
def test_no_cells_whatever_crash_the_download(rows):
    body = io.StringIO()
    csv.writer(body, lineterminator="\n").writerows(rows)
    try:
        frame = instruments.read_files([(HEADER + body.getvalue()).encode("utf-8", "replace")])
    except BadAnswer:
        return
    assert frame.height <= len(rows)
    assert frame["broker_token"].is_unique().all()
    for row in frame.iter_rows(named=True):
        shape = SEGMENT_SHAPES[row["segment"]]
        assert all(row[field] is not None for field in IDENTITY_FIELDS[shape])
        assert row["contract_units"] == 1 or row["broker_exchange"] in ("CDS", "BCD", "MCX", "NCO")


@pytest.mark.parametrize("body", [b"", b"<html></html>", b'{"status":"error"}', b"a,b\n1,2\n"])
def test_a_body_that_is_not_the_file_is_a_bad_answer(body):
    with pytest.raises(BadAnswer):
        instruments.read_files([body])


def test_every_contract_of_the_simulated_exchange_is_read_back_as_what_it_is():
    universe = build_universe(2000, 1, date(2026, 11, 23))
    names = [name for name in map(name_of, universe.contracts) if name is not None]
    frame = instruments.read_files([instrument_file(names)])
    assert len(names) == frame.height == frame["broker_token"].n_unique() > 1900
    rows = {row["broker_token"]: row for row in frame.iter_rows(named=True)}
    for name in names:
        contract, identity, row = name.contract, name.contract.identity, rows[str(name.token)]
        assert row["exchange"] == identity.exchange
        assert row["segment"] == contract.bare
        for field in ("symbol", "underlying_symbol", "expiry_date", "strike_price", "option_type"):
            assert row[field] == getattr(identity, field), name.tradingsymbol
        assert row["lot_size"] == contract.lot_size
        assert row["tick_size"] == float(contract.tick_size)
        assert row["contract_units"] == (contract.lot_size if contract.quoted_in_lots else 1)
        assert (row["tradingsymbol"], row["broker_exchange"]) == (name.tradingsymbol, name.exchange)
