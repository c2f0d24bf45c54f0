"""The seven files into the normalized frame."""

import io
import zipfile
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.listings.frame import LISTING_COLUMNS
from onebroker.brokers.requests import BadAnswer, CallKind
from onebroker.brokers.shoonya import instruments
from onebroker.config.clock import IST
from onebroker.config.instruments import SEGMENTS
from tests.support.further import searched

NOW = datetime(2026, 11, 23, 8, 30, tzinfo=IST)
DATA = Path(__file__).resolve().parents[2] / "data" / "shoonya" / "symbols"
CASH = "Exchange,Token,LotSize,Symbol,TradingSymbol,Instrument,TickSize,"
CONTRACTS = "Exchange,Token,LotSize,Symbol,TradingSymbol,Expiry,Instrument,OptionType,StrikePrice,TickSize,"
CURRENCY = CONTRACTS.replace("LotSize,", "LotSize,Precision,Multiplier,")
GOODS = CONTRACTS.replace("LotSize,", "LotSize,GNGD,")


def packed(text):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("X_symbols.txt", text)
    return out.getvalue()


def read(*files):
    """Return rows by broker token; a file is a header and its rows."""
    bodies = [packed("\n".join(file) + "\n") for file in files]
    return {row["broker_token"]: row for row in instruments.read_files(bodies).rows(named=True)}


def test_each_file_is_one_call_without_a_login(access):
    requests = list(instruments.file_requests(access, NOW))
    assert [request.url.rpartition("/")[2] for request in requests] == [
        f"{name}_symbols.txt.zip" for name in ("NSE", "BSE", "NFO", "BFO", "CDS", "MCX", "NCX")
    ]
    assert all(request.kind is CallKind.FILE and "Authorization" not in request.headers for request in requests)


def test_recorded_rows_are_what_they_are():
    files = [packed((DATA / f"{name}.txt").read_text()) for name in ("NSE", "BSE", "NFO", "BFO", "CDS", "MCX")]
    frame = instruments.read_files(files)
    assert frame.columns[: len(LISTING_COLUMNS)] == list(LISTING_COLUMNS)
    rows = {row["broker_token"]: row for row in frame.rows(named=True)}
    assert {token: row["segment"] for token, row in rows.items()} == {
        "NSE|26000": "equity_indices", "NSE|11536": "equities", "NSE|2885": "equities", "BSE|500209": "equities",
        "NFO|42697": "equity_index_futures", "NFO|165423": "equity_options", "BFO|837931": "equity_index_options",
        "CDS|17274": "currency_options", "MCX|477176": "commodity_futures", "BSE|1": "equity_indices",
    }  # fmt: skip
    tcs, option = rows["NSE|11536"], rows["NFO|165423"]
    assert (tcs["symbol"], tcs["tradingsymbol"], tcs["broker_exchange"], tcs["tick_size"]) == (
        "TCS",
        "TCS-EQ",
        "NSE",
        0.05,
    )
    assert (tcs["isin"], tcs["name"], tcs["freeze_quantity"]) == (None, None, None)
    assert (option["underlying_symbol"], option["expiry_date"], option["strike_price"]) == (
        "RELIANCE",
        "2026-06-30",
        1960.0,
    )
    assert (option["option_type"], option["lot_size"], option["symbol"]) == ("CE", 500, None)
    assert rows["NFO|42697"]["strike_price"] is None
    assert rows["NSE|26000"]["symbol"] == "NIFTY 50"
    assert rows["NSE|26000"]["tradingsymbol"] == "NIFTY INDEX"
    assert (rows["BFO|837931"]["underlying_symbol"], rows["BSE|1"]["symbol"]) == ("SENSEX", "SENSEX")
    yen, gold = rows["CDS|17274"], rows["MCX|477176"]
    assert (yen["lot_size"], yen["contract_units"], yen["other_names"]) == (1000, 1000, None)
    assert (gold["lot_size"], gold["contract_units"], gold["other_names"]) == (1, 1, "0.1")


@pytest.mark.parametrize(
    ("lot", "factor", "lot_size", "contract_units", "other"),
    [
        ("100", "1", 100, 1, None),
        ("1", "100", 100, 100, None),
        ("5", "1000", 5000, 1000, None),
        ("100", "0.1", 10, 1, "0.1"),
        ("8", "0.125", 1, 1, "0.125"),
    ],
)
def test_a_lot_is_the_files_lot_by_its_price_factor(lot, factor, lot_size, contract_units, other):
    rows = read((GOODS, f"MCX,7,{lot},{factor},X,X31MAR26,31-MAR-2026,FUTCOM,XX,0,1,"))
    row = rows["MCX|7"]
    assert row["segment"] == "commodity_futures"
    assert (row["lot_size"], row["contract_units"], row["other_names"]) == (lot_size, contract_units, other)


def test_goods_counted_in_nobody_knows_what_are_not_taken_for_lots():
    rows = read(
        (CONTRACTS, "NCX,1,3,JEERA,JEERA31MAR26,31-MAR-2026,FUTCOM,XX,0,1,"),
        (GOODS, "MCX,2,3,0.1,X,X31MAR26,31-MAR-2026,FUTCOM,XX,0,1,", "MCX,3,3,,Y,Y31MAR26,31-MAR-2026,FUTCOM,XX,0,1,"),
    )
    assert {row["segment"] for row in rows.values()} == {"uncategorised"}


def test_currency_without_a_multiplier_is_lots_of_unknown_size():
    rows = read((CURRENCY, "CDS,500,1,4,,USDINR,USDINR29DEC26F,29-DEC-2026,FUTCUR,XX,0,0.0025,"))
    assert (rows["CDS|500"]["segment"], rows["CDS|500"]["contract_units"]) == ("currency_futures", None)


def test_placeholders_and_rows_without_a_name_are_dropped():
    rows = read(
        (CONTRACTS, "NFO,1,0,,,,,XX,0,0,", "NFO,x,50,A,A27JUL23F,27-JUL-2023,FUTSTK,XX,0,0.05,"),
        (CURRENCY, "CDS,100,1,4,1000,D,D100,01-JAN-2030,FUTCUR,XX,0,0.0025,",
         "CDS,101,1,4,1000,USDINR,USDINR29DEC26F,29-DEC-2026,FUTCUR,XX,0,0.0025,"),
    )  # fmt: skip
    assert set(rows) == {"CDS|101"}


def test_a_whole_file_without_a_part_of_a_rupee_is_in_paise():
    paise = read((CASH, "NSE,1,1,A,A-EQ,EQ,5,", "NSE,2,1,B,B-EQ,EQ,1,", "NSE,3,1,C INDEX,C INDEX,INDEX,0,"))
    assert [row["tick_size"] for row in paise.values()] == [0.05, 0.01, None]
    rupees = read((CASH, "NSE,1,1,A,A-EQ,EQ,5,", "NSE,2,1,B,B-EQ,EQ,0.01,"))
    assert [row["tick_size"] for row in rupees.values()] == [5.0, 0.01]
    contracts = read((CONTRACTS, "NFO,1,5,A,A27JUL23F,27-JUL-2023,FUTSTK,XX,0,1,"))
    assert contracts["NFO|1"]["tick_size"] == 1.0


def test_series_and_groups_say_what_a_security_is():
    rows = read(
        (CASH, "NSE,1,1,A,A-EQ,EQ,0.05,", "NSE,2,1,GOLDBEES,GOLDBEES-EQ,EQ,0.01,", "NSE,3,1,P,P-GS,GS,0.01,",
         "NSE,4,1,Q,Q-IV,IV,0.01,", "NSE,5,1,R,R-MF,MF,0.01,", "NSE,6,1,A,A-BL,BL,0.05,", "NSE,7,1,EMBREIT,EMBREIT-EQ,EQ,0.01,"),
        (CASH, "BSE,1,1,A,A,A,0.05,", "BSE,2,1,NIFTYETF,NIFTYETF,E,0.01,", "BSE,3,1,D,D,F,0.01,", "BSE,4,1,Z,Z,??,0.01,"),
    )  # fmt: skip
    assert [row["segment"] for row in rows.values()] == [
        "equities", "exchange_traded_funds", "fixed_income", "investment_trusts", "mutual_funds", "uncategorised",
        "investment_trusts", "equities", "exchange_traded_funds", "fixed_income", "uncategorised",
    ]  # fmt: skip


def test_a_share_in_two_series_is_one_symbol_in_two_series():
    rows = read((CASH, "NSE,1,1,A,A-EQ,EQ,0.05,", "NSE,2,1,A,A-BE,BE,0.05,", "NSE,3,1,B,B-BE,BE,0.05,"))
    assert [(row["symbol"], row["series"]) for row in rows.values()] == [("A", "EQ"), ("A", "BE"), ("B", "BE")]


def test_a_code_of_bfo_that_nobody_knows_is_uncategorised_and_a_plain_name_taken():
    rows = read(
        (CONTRACTS, "BFO,1,20,SX5OPT,SENSEX5026SEP91000PE,24-SEP-2026,OPTIDX,PE,91000,0.05,",
         "BFO,2,500,TCS,TCS26SEPFUT,24-SEP-2026,FUTSTK,XX,0,0.05,"),
    )  # fmt: skip
    assert [row["segment"] for row in rows.values()] == ["uncategorised", "equity_futures"]
    assert "BSE|1" not in rows


@pytest.mark.parametrize(
    "row",
    [
        "NFO,1,50,A,A-1,soon,FUTSTK,XX,0,0.05,", "NFO,1,50,A,A-1,27-JUL-2023,OPTSTK,XX,100,0.05,",
        "NFO,1,50,A,A-1,27-JUL-2023,OPTSTK,CE,0,0.05,", "NFO,1,50,A,A-1,27-JUL-2023,SPREAD,XX,0,0.05,",
        "XYZ,1,50,A,A-1,27-JUL-2023,FUTSTK,XX,0,0.05,",
    ],
)  # fmt: skip
def test_what_fits_nothing_is_uncategorised(row):
    (only,) = read((CONTRACTS, row)).values()
    assert (only["segment"], only["symbol"], only["expiry_date"]) == ("uncategorised", "A-1", None)


def test_interest_rates_and_indices_of_goods_have_their_own_segments():
    rows = read(
        (CURRENCY, "CDS,501,1,4,2000,733GS2026,733GS202629DEC26F,29-DEC-2026,FUTIRC,XX,0,0.0025,"),
        (GOODS, "MCX,9,50,1,MCXBULLDEX,MCXBULLDEX24DEC26,24-DEC-2026,FUTIDX,XX,0,1,"),
    )
    assert [row["segment"] for row in rows.values()] == ["fixed_income_futures", "commodity_index_futures"]


@pytest.mark.parametrize("body", [b"", b"<html></html>", b"PK\x03\x04 broken", packed(""), packed("a,b\n1,2\n")])
def test_a_body_that_is_no_such_file_is_a_bad_answer(body):
    with pytest.raises(BadAnswer):
        instruments.read_files([body])


@searched(40, 100)
@given(
    rows=st.lists(
        st.lists(st.text(alphabet='ANSEQ01.-" ', max_size=6), min_size=7, max_size=11).map(",".join), max_size=6
    )
)
def test_any_rows_make_a_frame_or_a_bad_answer(rows):
    try:
        frame = instruments.read_files([packed("\n".join([CASH, *rows]))])
    except BadAnswer:
        return
    assert set(frame["segment"].to_list()) <= set(SEGMENTS)
