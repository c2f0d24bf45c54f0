"""Rows as the live security master has them, where they are other than the fixtures of its documentation."""

import zipfile
from io import BytesIO

import pytest

from onebroker.brokers.icicidirect import instruments

BSE_HEADER = (
    '"Token","ShortName","Series","CompanyName","TickSize","LotSize","ScripCode","ScripID","ISINCode","ExchangeCode"'
)
NSE_HEADER = '"Token", "ShortName", "Series", "CompanyName", "ticksize", "Lotsize", "ISINCode", "ExchangeCode"'
FO_HEADER = '"Token","InstrumentName","ShortName","Series","ExpiryDate","StrikePrice","OptionType","LotSize","TickSize","CompanyName","ExchangeCode"'


def read(**members):
    body = BytesIO()
    with zipfile.ZipFile(body, "w") as archive:
        for name, text in members.items():
            archive.writestr(f"{name}ScripMaster.txt", text)
    return {row["broker_token"]: row for row in instruments.read_files([body.getvalue()]).iter_rows(named=True)}


def test_bses_column_of_tick_sizes_is_the_upper_price_band_and_no_tick():
    rows = read(
        BSE=f"""{BSE_HEADER}
"517544","CENTUM","A","CENTUM ELECTRONICS",4293.65,1,"517544","CENTUM","INE320B01020","517544"
"800278","GOI34","G","GOI LOAN",115.1,1,"800278","718GS2033","IN0020230085","800278"
"512099","PENNY","X","A PENNY SHARE",0.5,1,"512099","PENNY","INE222B01010","512099"
"""
    )
    assert {row["tick_size"] for row in rows.values()} == {None}


def test_nses_column_of_tick_sizes_is_the_same_for_all_shares_and_no_tick():
    rows = read(NSE=f'{NSE_HEADER}\n"2885","RELIND","EQ","RELIANCE INDUSTRIES",0.01,1,"INE002A01018","RELIANCE"\n')
    assert rows["NSE:RELIND"]["tick_size"] is None


def test_contracts_have_their_ticks():
    rows = read(
        FONSE=f'{FO_HEADER}\n"50004","FUTSTK","RELIND","FUTURE","24-Nov-2026","0","XX",500,10,"RELIANCE","RELIANCE"\n'
    )
    assert rows["NFO:RELIND:2026-11-24"]["tick_size"] == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("written", "called"),
    [
        ("NIFTY 50", "NIFTY"), ("NIFTY BANK", "BANKNIFTY"), ("NIFTY FINANCIAL", "FINNIFTY"), ("NIFTY MIDCAP", "MIDCPNIFTY"),
        ("NIFTY NEXT 50", "NIFTYNXT50"),
    ],
)  # fmt: skip
def test_contracts_on_an_index_are_called_as_their_exchange_calls_them(written, called):
    rows = read(
        FONSE=f'{FO_HEADER}\n"35000","OPTIDX","X","OPTION","24-Nov-2026","72600","CE",30,5,"{written}","{written}"\n'
    )
    assert [row["underlying_symbol"] for row in rows.values()] == [called]


@pytest.mark.parametrize("number", ["0", "00", "NA"])
def test_a_listing_without_a_number_has_no_room_and_no_number(number):
    """Hundreds of rows say `0`: a room of all of them would give each the others' prices."""
    rows = read(NSE=f'{NSE_HEADER}\n"{number}","OLDCO","EQ","AN OLD COMPANY",0.01,1,"INE111A01010","OLDCO"\n')
    (row,) = rows.values()
    assert (row["segment"], row["symbol"], row["other_names"]) == ("equities", "OLDCO", None)


@pytest.mark.parametrize(
    ("isin", "series", "symbol", "segment"),
    [
        ("INE066P20011", "BE", "INOXWI-RE", "equities"),  # a rights entitlement
        ("INE123A04017", "P1", "ZED-P1", "equities"),  # a preference share
        ("INE123A13018", "W1", "ZED-W1", "equities"),  # a warrant
        ("INE123A13018", "", "ZED", "equities"),
        ("IN9397D01014", "E1", "ZED-E1", "equities"),  # partly paid
    ],
)
def test_what_is_traded_like_a_share_is_one_and_can_be_sold(isin, series, symbol, segment):
    written = symbol if series in ("BE", "") else symbol.partition("-")[0]
    (row,) = read(NSE=f'{NSE_HEADER}\n"40012","X","{series}","X",0.01,1,"{isin}","{written}"\n').values()
    assert (row["segment"], row["symbol"]) == (segment, symbol)
