"""The security master of ICICI Direct: one zip, a file a market, and its damage."""

import contextlib
import zipfile
from datetime import datetime
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.icicidirect import instruments
from onebroker.brokers.requests import BadAnswer, CallKind
from onebroker.config.clock import IST
from tests.support.every_case import every_case

NOW = datetime(2025, 2, 5, 9, 26, tzinfo=IST)
# the security master
NSE_HEADER = '"Token", "ShortName", "Series", "CompanyName", "ticksize", "Lotsize", "ISINCode", "ExchangeCode"'
FO_HEADER = '"Token","InstrumentName","ShortName","Series","ExpiryDate","StrikePrice","OptionType","FreezeQty","MinimumLotQty","LotSize","TickSize","CompanyName","MF","ExchangeCode"'
BSE_HEADER = (
    '"Token","ShortName","Series","CompanyName","TickSize","LotSize","ScripCode","ScripID","ISINCode","ExchangeCode"'
)
MCX_HEADER = '"Token","InstrumentName","ShortName","Series","CompanyName","TickSize","LotSize","ExpiryDate","OptionType","StrikePrice","ExchangeCode"'
NSE = f"""{NSE_HEADER}
"2885","RELIND","EQ","RELIANCE INDUSTRIES, LIMITED",0.05,1,"INE002A01018","RELIANCE"
"2886","RELIND","BL","RELIANCE INDUSTRIES",0.05,1,"INE002A01018","RELIANCE"
"NIFTY 50","NIFTY","0","NIFTY 50",0,1,"","NIFTY"
"NIFTY BANK","CNXBAN","0","NIFTY BANK",0,1,"","BANKNIFTY"
"NIFTY GS 10YR","NIFGS1","0","NIFTY GS 10YR",0,1,"","NIFTYGS10"
"10576","NIFBEE","EQ","NIPPON NIFTY BEES",0.01,1,"INF204KB14I2","NIFTYBEES"
"999","SGBMAR","GB","GOLD BOND",0.01,1,"IN0020200104","SGBMAR28"
"1000","PAPER1","N1","DEBENTURE ONE",0.01,1,"INE002A07AA1","ISSUER"
"1001","PAPER2","N2","DEBENTURE TWO",0.01,1,"INE002A07AB9","ISSUER"
"1002","STRANG","XY","STRANGE","",1,"","STRANGE"
"","NOTOK","EQ","NO TOKEN",0.05,1,"INE000000000","NOTOK"
"77","","EQ","NO NAME",0.05,1,"INE000000000","NONAME"
"""
NFO = f"""{FO_HEADER}
"68407","FUTIDX","NIFTY","FUTURE","29-Sep-2026","0","XX",0,65,65,10,"NIFTY","N,N","NIFTY"
"35000","OPTIDX","CNXBAN","OPTION","29-Sep-2026","72600","CE",0,30,30,5,"BANK","N,N","BANKNIFTY"
"36342","OPTSTK","RELIND","OPTION","27-Oct-2026","702.50","PE",0,500,500,5,"RELIANCE","N,N","RELIANCE"
"36343","OPTSTK","RELIND","OPTION","27-Oct-2026","0","PE",0,500,500,5,"RELIANCE","N,N","RELIANCE"
"36344","FUTSTK","RELIND","FUTURE","never","0","XX",0,500,500,5,"RELIANCE","N,N","RELIANCE"
"36345","FUTSTK","ORPHAN","FUTURE","27-Oct-2026","0","XX",0,500,500,5,"ORPHAN","N,N",""
"""
BFO = f'{FO_HEADER}\n"842701","OPTIND","BSESEN","OPTION","03-Sep-2026","81000","PE",0,20,20,5,"SENSEX","N,N","SENSEX"\n'
NDX = f"""{FO_HEADER}
"6001","FUTCUR","EURINR","FUTURE","27-Feb-2025","0","XX",0,1,1000,0.0025,"EURINR","N,N","EURINR"
"6002","OPTCUR","USDINR","OPTION","27-Feb-2025","88.25","CE",0,1,1000,0.25,"USDINR","N,N","USDINR"
"6003","FUTIRC","GSEC33","FUTURE","27-Feb-2025","0","XX",0,1,2000,0.0025,"726GS2033","N,N","726GS2033"
"""
BSE = f'{BSE_HEADER}\n"500325","RELIND","A","RELIANCE",0.05,1,"500325","RELIANCE","INE002A01018","500325"\n'
MCX = f'{MCX_HEADER}\n"4001","FUTSTK","ZINC","FUTURE","ZINC",5,5,"31-Dec-2026","XX",0,"ZINC"\n'
MEMBERS = {
    "NSEScripMaster.txt": NSE, "BSEScripMaster.txt": BSE, "FONSEScripMaster.txt": NFO, "FOBSEScripMaster.txt": BFO,
    "CDNSEScripMaster.txt": NDX, "MCXScripMaster.txt": MCX, "MFScripMaster.txt": "x", "readme.md": "x",
}  # fmt: skip


def packed(members):
    body = BytesIO()
    with zipfile.ZipFile(body, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return body.getvalue()


@pytest.fixture(scope="module")
def rows():
    frame = instruments.read_files([packed(MEMBERS)])
    return {row["broker_token"]: row for row in frame.iter_rows(named=True)}


def test_the_file_is_one_call_without_a_login(bare):
    (request,) = instruments.file_requests(bare, NOW)
    assert (request.kind, request.url) == (CallKind.FILE, bare.endpoints.instruments_url)


def test_a_share_is_known_by_the_exchanges_symbol_and_called_by_the_short_name(rows):
    row = rows["NSE:RELIND"]
    assert (row["segment"], row["symbol"], row["isin"]) == ("equities", "RELIANCE", "INE002A01018")
    assert (row["tradingsymbol"], row["other_names"], row["broker_exchange"]) == ("RELIND", "4!2885", "NSE")
    assert (row["lot_size"], row["tick_size"], row["freeze_quantity"], row["contract_units"]) == (1, None, None, 1)
    assert (rows["BSE:RELIND"]["symbol"], rows["BSE:RELIND"]["other_names"]) == ("RELIANCE", "1!500325")
    assert row["name"] == "RELIANCE INDUSTRIES, LIMITED"


def test_segments_are_told_from_series_and_isin(rows):
    segments = {token: row["segment"] for token, row in rows.items() if token.startswith("NSE:")}
    assert segments == {
        "NSE:RELIND": "equities", "NSE:NIFTY": "equity_indices", "NSE:CNXBAN": "equity_indices",
        "NSE:NIFGS1": "fixed_income_indices", "NSE:NIFBEE": "exchange_traded_funds", "NSE:SGBMAR": "fixed_income",
        "NSE:PAPER1": "fixed_income", "NSE:PAPER2": "fixed_income", "NSE:STRANG": "uncategorised",
    }  # fmt: skip
    assert (rows["NSE:NIFTY"]["symbol"], rows["NSE:NIFTY"]["other_names"]) == ("NIFTY 50", "4!NIFTY 50")
    assert {rows["NSE:PAPER1"]["symbol"], rows["NSE:PAPER2"]["symbol"]} == {"ISSUER-N1", "ISSUER-N2"}


@every_case(
    ("token", "segment", "underlying", "expiry", "strike", "kind", "lot", "tick", "room"),
    [
        ("NFO:NIFTY:2026-09-29", "equity_index_futures", "NIFTY", "2026-09-29", None, None, 65, 0.1, "4!68407"),
        ("NFO:CNXBAN:2026-09-29:72600:CE", "equity_index_options", "BANKNIFTY", "2026-09-29", 72600.0, "CE", 30, 0.05, "4!35000"),
        ("NFO:RELIND:2026-10-27:702.5:PE", "equity_options", "RELIANCE", "2026-10-27", 702.5, "PE", 500, 0.05, "4!36342"),
        ("BFO:BSESEN:2026-09-03:81000:PE", "equity_index_options", "SENSEX", "2026-09-03", 81000.0, "PE", 20, 0.05, "8!842701"),
        ("NDX:EURINR:2025-02-27", "currency_futures", "EURINR", "2025-02-27", None, None, 1000, 0.0025, "13!6001"),
        ("NDX:USDINR:2025-02-27:88.25:CE", "currency_options", "USDINR", "2025-02-27", 88.25, "CE", 1000, 0.0025, "13!6002"),
        ("NDX:GSEC33:2025-02-27", "fixed_income_futures", "726GS2033", "2025-02-27", None, None, 2000, 0.0025, "13!6003"),
        ("MCX:ZINC:2026-12-31", "commodity_futures", "ZINC", "2026-12-31", None, None, None, 0.05, "6!4001"),
    ],
)  # fmt: skip
def test_contracts_are_known_by_their_underlying(
    rows, token, segment, underlying, expiry, strike, kind, lot, tick, room
):
    row = rows[token]
    assert (row["segment"], row["underlying_symbol"], row["expiry_date"]) == (segment, underlying, expiry)
    assert (row["strike_price"], row["option_type"], row["symbol"]) == (strike, kind, None)
    assert (row["lot_size"], row["tick_size"], row["other_names"]) == (lot, tick, room)


def test_what_fits_nothing_is_uncategorised_and_what_names_nothing_is_dropped(rows):
    assert rows["NFO:RELIND:2026-10-27:0:PE"]["segment"] == "uncategorised"
    assert rows["NFO:ORPHAN:2026-10-27"]["segment"] == "uncategorised"
    assert rows["NFO:ORPHAN:2026-10-27"]["symbol"] == "FUT-ORPHAN-27-OCT-2026"
    assert not any(row["other_names"].endswith("!36344") for row in rows.values())
    assert len(rows) == 9 + 1 + 5 + 1 + 3 + 1


def test_a_market_that_is_not_in_the_zip_is_not_listed():
    frame = instruments.read_files([packed({"NSEScripMaster.txt": NSE})])
    assert frame["broker_exchange"].unique().to_list() == ["NSE"]


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", packed({}), packed({"readme.md": "x"}), packed({"NSEScripMaster.txt": ""}), packed({"NSEScripMaster.txt": "a,b\n1,2\n"}), packed(MEMBERS)[:-40]],
)  # fmt: skip
def test_a_body_that_is_not_the_file_is_a_bad_answer(body):
    with pytest.raises(BadAnswer):
        instruments.read_files([body])


@given(st.binary(max_size=200), st.integers(0, 2000))
def test_no_damage_raises_anything_else(noise, at):
    good = packed(MEMBERS)
    damaged = good[:at] + noise + good[at + len(noise) :]
    with contextlib.suppress(BadAnswer):
        instruments.read_files([damaged])
