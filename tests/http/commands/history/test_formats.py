"""Files of others: bhavcopies and candles of one instrument, told by their header, from the file to the store."""

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from datetime import date

import polars as pl
import pytest
import trio

from onebroker.actors.history.adjust import day_start
from onebroker.actors.history.duck import DuckHistory
from onebroker.config.instruments import future, option, security
from onebroker.http.__main__ import main

UDIFF = (
    "TradDt,BizDt,Sgmt,Src,FinInstrmTp,FinInstrmId,ISIN,TckrSymb,SctySrs,XpryDt,FininstrmActlXpryDt,StrkPric,OptnTp,FinInstrmNm,"
    "OpnPric,HghPric,LwPric,ClsPric,LastPric,PrvsClsgPric,UndrlygPric,SttlmPric,OpnIntrst,ChngInOpnIntrst,TtlTradgVol,TtlTrfVal,"
    "TtlNbOfTxsExctd,SsnId,NewBrdLotQty,Rmks,Rsvd1,Rsvd2,Rsvd3,Rsvd4"
)
DAY = day_start(date(2026, 7, 22))
SHARE = security("nse", "equities", "ONECO")
FUND = security("nse", "exchange_traded_funds", "ONEBEES")
ON_BSE = security("bse", "equities", "ONECO")
FUTURE = future("nse", "equity_index_futures", "BANKNIFTY", date(2026, 8, 25))
OPTION = option("nse", "equity_options", "ONECO", date(2026, 8, 25), 350.0, "PE")


def cash(
    symbol, series, isin, src="NSE", figures="100.00,103.00,99.00,101.00,101.00,100.00,,101.00,,,5000,505000.00,40"
):
    return f"2026-07-22,2026-07-22,CM,{src},STK,1,{isin},{symbol},{series},,,,,NAME,{figures},F1,1,,,,,"


def contract(kind, symbol, strike, option_type, figures, lot):
    return f"2026-07-22,2026-07-22,FO,NSE,{kind},1,,{symbol},,2026-08-25,2026-08-25,{strike},{option_type},NAME,{figures},F1,{lot},,,,,"


def run(*arguments):
    out, error = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(error):
        code = main([str(argument) for argument in arguments])
    return code, out.getvalue(), error.getvalue()


@pytest.fixture
def load(tmp_path):
    def write_and_load(*lines, options=("--create",)):
        path = tmp_path / "given.csv"
        path.write_text("\n".join([*lines, ""]))
        code, out, error = run("history", "load", "--data-dir", tmp_path / "data", "--json", path, *options)
        assert code in (0, 1), error
        (said,) = json.loads(out)
        return said

    return write_and_load


@pytest.fixture
def stored(tmp_path):
    def read(identity, minutes=1440):
        async def candles():
            store = DuckHistory(tmp_path / "data" / "history" / "history.duckdb", memory_limit="256MB")
            try:
                return await store.candles(identity.instrument_id, minutes, -(2**60), 2**60)
            finally:
                await store.close()

        return trio.run(candles).rows()

    return read


def test_a_bhavcopy_gives_day_candles_of_shares_funds_and_contracts(load, stored):
    said = load(
        UDIFF,
        cash("ONECO", "EQ", "INE000A01011"), cash("ONEBEES", "EQ", "INF000C01013"), cash("ONECO", "A", "INE000A01011", "BSE"),
        # 7 lots of 3,100 at about 351.6 with the strike; 10 of 30 futures.
        contract("STO", "ONECO", "350.00", "PE", "1.50,1.80,1.50,1.65,1.80,1.60,400.60,1.65,93000,18600,7,7630750.00,6", 3100),
        contract("IDF", "BANKNIFTY", "", "", "58201,58201,57351,57469.2,57450,58239,57126,57469,619980,0,10,17269000.00,5", 30),
        contract("IDO", "NIFTY", "30000.00", "PE", "0.00,0.00,0.00,5754.50,5754.50,5754.50,23996.25,4848.10,130,0,0,0.00,0", 65),
    )  # fmt: skip
    assert (said["added"], said["refused"]) == (5, 0)
    for share in (SHARE, FUND, ON_BSE):
        assert stored(share) == [(DAY, 100.0, 103.0, 99.0, 101.0, 5000, None)]
    assert stored(OPTION) == [(DAY, 1.5, 1.8, 1.5, 1.65, 21_700, 93_000)]
    assert stored(FUTURE) == [(DAY, 58201.0, 58201.0, 57351.0, 57469.2, 300, 619_980)]


def test_where_a_bhavcopy_counts_contracts_in_units_the_turnover_says_so(load, stored):
    load(
        UDIFF,
        contract(
            "IDF", "BANKNIFTY", "", "", "58201,58201,57351,57469.2,57450,58239,57126,57469,60,0,300,17269000.00,5", 30
        ),
    )
    assert [row[5] for row in stored(FUTURE)] == [300]


def test_rows_of_a_bhavcopy_that_fit_no_segment_are_refused(load):
    said = load(UDIFF, cash("ONECO", "BL", "INE000A01011"), cash("ONECO", "EQ", "INE000A01011"))
    assert (said["added"], said["refused"]) == (1, 1)


def test_the_bhavcopy_of_earlier_years(load, stored):
    said = load(
        "SYMBOL,SERIES,OPEN,HIGH,LOW,CLOSE,LAST,PREVCLOSE,TOTTRDQTY,TOTTRDVAL,TIMESTAMP,TOTALTRADES,ISIN,",
        "ONECO,EQ,10,11,9,10.5,10.4,10,1000,10500,06-OCT-2021,50,INE000A01011,",
    )
    assert said["added"] == 1
    assert stored(SHARE) == [(day_start(date(2021, 10, 6)), 10.0, 11.0, 9.0, 10.5, 1000, None)]
    said = load(
        "INSTRUMENT,SYMBOL,EXPIRY_DT,STRIKE_PR,OPTION_TYP,OPEN,HIGH,LOW,CLOSE,SETTLE_PR,CONTRACTS,VAL_INLAKH,OPEN_INT,CHG_IN_OI,TIMESTAMP,",
        "OPTSTK,ONECO,25-Aug-2026,350,PE,1.5,1.8,1.5,1.65,1.65,7,76,93000,18600,15-MAR-2024,",
        "FUTIDX,BANKNIFTY,25-Aug-2026,0,XX,10,11,9,10,10,7,76,500,0,15-MAR-2024,",
        "FUTIDX,NIFTY,25-Aug-2026,0,XX,0,0,0,10,10,0,0,500,0,15-MAR-2024,",
    )  # fmt: skip
    assert (said["added"], said["refused"]) == (2, 0)
    assert stored(OPTION) == [(day_start(date(2024, 3, 15)), 1.5, 1.8, 1.5, 1.65, None, 93_000)]


NAMED = ("--exchange", "nse", "--segment", "equities", "--symbol", "oneco", "--interval", "5minute")


@pytest.mark.parametrize("header", ["date,open,high,low,close,volume", "Datetime,Open,High,Low,Close,Volume"])
def test_candles_of_one_instrument_are_named_by_options(load, stored, header):
    said = load(header, "2026-07-22 09:15:00+05:30,10,11,9,10.5,7", "2026-07-22T09:20:00+0530,10,11,9,10.5,8",
                options=("--create", *NAMED))  # fmt: skip
    assert (said["kind"], said["added"]) == ("candles", 2)
    first = DAY + 555 * 60_000_000
    assert [(row[0], row[5]) for row in stored(SHARE, 5)] == [(first, 7), (first + 300_000_000, 8)]


def test_ticks_of_one_instrument_are_named_by_options(load):
    said = load("timestamp,broker,last_price", "2026-07-22 09:15:00,zerodha,10", options=("--create", *NAMED[:-2]))
    assert (said["kind"], said["added"]) == ("ticks", 1)


@pytest.mark.parametrize(
    ("lines", "options", "sentence"),
    [
        ((UDIFF, cash("ONECO", "EQ", "INE000A01011")), NAMED[:2], "says itself what --exchange would say"),
        (("interval,time,open,high,low,close", ""), NAMED, "says itself what --interval would say"),
        (("date,open,high,low,close", ""), (), "names no instruments"),
    ],
)
def test_an_option_for_what_the_file_says_and_a_file_that_says_too_little_are_wrong_use(
    tmp_path, lines, options, sentence
):
    path = tmp_path / "given.csv"
    path.write_text("\n".join(lines))
    code, _, error = run("history", "load", "--data-dir", tmp_path / "data", path, *options)
    assert code == 2
    assert sentence in error


def test_the_same_file_for_another_instrument_is_another_load(load, stored, tmp_path):
    line = ("date,open,high,low,close", "2026-07-22,10,11,9,10.5")
    names = ("--create", "--exchange", "nse", "--segment", "equities", "--interval", "day", "--symbol")
    for symbol in ("ONECO", "OTHERCO"):
        assert load(*line, options=(*names, symbol))["added"] == 1
    locks = {file.name for file in (tmp_path / "data" / "history" / "loads").glob("*.lock")}
    assert len(locks) == 2
    assert pl.DataFrame(stored(SHARE), orient="row").height == 1
