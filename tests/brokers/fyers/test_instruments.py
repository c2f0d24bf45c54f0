"""Fyers' instrument files; the rows are those public projects keep in their tests."""

from datetime import datetime
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onebroker.brokers.fyers import instruments
from onebroker.brokers.listings.frame import LISTING_COLUMNS
from onebroker.brokers.requests import BadAnswer, CallKind
from onebroker.config.clock import IST
from onebroker.config.instruments import SEGMENTS
from tests.support.every_case import every_case

NOW = datetime(2026, 11, 20, 10, tzinfo=IST)
DATA = Path(__file__).resolve().parents[2] / "data" / "fyers"
CSVS = [(path.read_bytes() if (path := DATA / f"{name}.csv").exists() else b"") for name in instruments.FILES]
MASTERS = (DATA / "masters.json").read_bytes()
NAMES = b'{"NSE:NIFTY50-INDEX":"Nifty 50"}'
CASH = "10100000003045,{name},{type},1,0.1,{isin},0915-1530|1815-1915:,2026-09-09,,{ticker},{exchange},10,3045,X,3045,-1.0,XX,1,None,1,3.7"


def bodies(csvs=None, master=MASTERS, names=NAMES):
    return [*(csvs or CSVS), master, *([b"{}"] * (len(instruments.FILES) - 1)), names]


def read(*lines, name="NSE_CM", **more):
    csvs = ["".join(f"{line}\n" for line in lines).encode() if each == name else b"" for each in instruments.FILES]
    return instruments.read_files(bodies(csvs, **more)).rows(named=True)


def documented(token):
    return next(row for row in instruments.read_files(bodies()).rows(named=True) if row["broker_token"] == token)


def fixed(row):
    return {name: row[name] for name in LISTING_COLUMNS if row[name] is not None}


def test_all_masters_and_the_names_of_the_indices_are_asked_for_without_a_login(access):
    requests = list(instruments.file_requests(access, NOW))
    assert all(request.kind is CallKind.FILE and not request.headers for request in requests)
    urls = [request.url.removeprefix("https://public.fyers.in/sym_details/") for request in requests]
    assert (urls[0], urls[7], urls[-1]) == ("NSE_CM.csv", "NSE_CM_sym_master.json", "index_hsm_mapping.json")
    assert len(urls) == len(set(urls)) == 15


def test_a_share_reads_as_documented():
    row = documented("nse_cm|3045")
    assert fixed(row) == {
        "exchange": "nse", "segment": "equities", "symbol": "SBIN", "name": "STATE BANK OF INDIA", "isin": "INE062A01020",
        "lot_size": 1, "tick_size": 0.1, "freeze_quantity": 100_000, "contract_units": 1, "broker_token": "nse_cm|3045",
        "tradingsymbol": "NSE:SBIN-EQ", "broker_exchange": "NSE",
    }  # fmt: skip
    assert (row["raw.fytoken"], row["raw.mtf_tradable"], row["raw.leverage"]) == ("10100000003045", "1", "3.7")


def test_a_share_of_bse_has_no_freeze_quantity_where_the_master_says_zero():
    row = documented("bse_cm|500209")
    assert (row["exchange"], row["segment"], row["symbol"], row["freeze_quantity"]) == ("bse", "equities", "INFY", None)


def test_an_index_is_listed_under_its_name_on_the_data_socket():
    row = documented("nse_cm|Nifty 50")
    assert (row["segment"], row["symbol"], row["tradingsymbol"]) == ("equity_indices", "NIFTY 50", "NSE:NIFTY50-INDEX")
    assert (row["lot_size"], row["tick_size"]) == (None, 0.05)
    (index,) = read(CSVS[0].decode().splitlines()[1], names=b"{}")
    assert (index["broker_token"], index["symbol"]) == ("nse_cm|NIFTY50", "NIFTY50")


def test_equity_derivatives_read_as_documented():
    future, option = documented("nse_fo|68407"), documented("nse_fo|35086")
    assert fixed(future) == {
        "exchange": "nse", "segment": "equity_index_futures", "underlying_symbol": "NIFTY", "expiry_date": "2026-09-29",
        "name": "NIFTY 29 Sep 26 FUT", "lot_size": 65, "tick_size": 0.1, "freeze_quantity": 1800, "contract_units": 1,
        "broker_token": "nse_fo|68407", "tradingsymbol": "NSE:NIFTY26SEPFUT", "broker_exchange": "NSE",
    }  # fmt: skip
    assert (option["segment"], option["strike_price"], option["option_type"]) == ("equity_index_options", 29200.0, "CE")


def test_currency_and_commodity_contracts_are_lots_of_the_masters_multiplier():
    pair, crude = documented("cde_fo|01201"), documented("mcx_fo|565899")
    assert (pair["segment"], pair["expiry_date"]) == ("currency_futures", "2026-10-29")
    assert (pair["lot_size"], pair["contract_units"], pair["freeze_quantity"]) == (1000, 1000, 10_000_000)
    assert (crude["exchange"], crude["segment"], crude["expiry_date"]) == ("mcx", "commodity_futures", "2026-09-21")
    assert (crude["lot_size"], crude["contract_units"], crude["freeze_quantity"]) == (100, 100, 10_000)


@pytest.mark.parametrize(("name", "multiplier"), [("NSE_CD", None), ("NSE_CD", 1), ("MCX_COM", None), ("MCX_COM", 0.5)])
def test_a_contract_of_an_unknown_size_has_no_units_and_no_lot(name, multiplier):
    line = CSVS[instruments.FILES.index(name)].decode().strip()
    ticker = line.split(",")[9]
    master = msgspec.json.encode({ticker: {"qtyFreeze": 100, "qtyMultiplier": multiplier}})
    (row,) = read(line, name=name, master=master)
    assert (row["lot_size"], row["contract_units"], row["freeze_quantity"]) == (None, None, None)


@pytest.mark.parametrize("expiry", ["1" * 18, "1e300", "-5", "0", "", "soon"])
def test_an_expiry_that_is_no_time_costs_its_own_row_only(expiry):
    lines = CSVS[instruments.FILES.index("NSE_FO")].decode().splitlines()
    odd = lines[0].split(",")
    odd[8] = expiry
    good = {row["broker_token"]: row for row in read(*lines, name="NSE_FO")}
    rows = {row["broker_token"]: row for row in read(",".join(odd), *lines[1:], name="NSE_FO")}
    (changed,) = (token for token, row in rows.items() if row != good.get(token))
    assert rows.pop(changed)["segment"] == "uncategorised"
    good.pop(changed, None)
    assert rows == good


def test_a_commodity_may_be_quoted_in_single_units():
    line = CSVS[instruments.FILES.index("MCX_COM")].decode().strip()
    (row,) = read(line, name="MCX_COM", master=b'{"MCX:CRUDEOIL26SEPFUT":{"qtyMultiplier":1}}')
    assert (row["lot_size"], row["contract_units"]) == (1, 1)


@every_case(
    ("kind", "isin", "ticker", "segment"),
    [
        (0, "INE062A01020", "NSE:SBIN-EQ", "equities"), (0, "INE062A01020", "NSE:SBIN-BE", "equities"),
        (0, "", "NSE:SBIN-EQ", "equities"), (9, "INF204KB17I5", "NSE:NIFTYBEES-EQ", "exchange_traded_funds"),
        (0, "INF204KB17I5", "NSE:NIFTYBEES-EQ", "exchange_traded_funds"), (8, "INF204K01UN9", "NSE:LIQUID-MF", "mutual_funds"),
        (0, "INE219X23014", "NSE:INDIGRID-IV", "investment_trusts"), (2, "INE062A08231", "NSE:SBIN-N5", "fixed_income"),
        (5, "IN0020160092", "NSE:SGBAUG24-GB", "fixed_income"), (0, "INE062A08231", "BSE:SBIBOND-F", "fixed_income"),
        (1, "INE062A03010", "NSE:PREF-P1", "equities"), (3, "", "NSE:WARRANT-W1", "equities"),
        (50, "", "BSE:ODD-XX", "uncategorised"), (0, "INE917I01010", "NSE:BAJAJ-AUTO-EQ", "equities"),
    ],
)  # fmt: skip
def test_the_segment_of_a_cash_row_is_told_by_series_type_and_isin(kind, isin, ticker, segment):
    exchange = 12 if ticker.startswith("BSE") else 10
    line = CASH.format(name="X", type=kind, isin=isin, ticker=ticker, exchange=exchange)
    (row,) = read(line.replace("10100000003045", f"{exchange}100000003045", 1))
    assert row["segment"] == segment
    base, _, series = ticker.partition(":")[2].rpartition("-")
    assert row["symbol"] == (f"{base}-{series}" if series in ("N5", "P1", "W1") else base)
    assert row["series"] == series


def test_the_series_stays_where_an_issuer_lists_several_debentures_under_one_symbol():
    lines = [
        CASH.format(name="X", type=2, isin=f"INE062A0{n}231", ticker=f"NSE:SBIN-N{n}", exchange=10).replace(
            "10100000003045", f"1010000000304{n}", 1
        )
        for n in (7, 8)
    ]
    assert [row["symbol"] for row in read(*lines)] == ["SBIN-N7", "SBIN-N8"]


def test_a_derivative_of_an_unknown_type_is_told_by_its_underlyings_row():
    share, index = CSVS[0].decode().splitlines()
    future = CSVS[instruments.FILES.index("NSE_FO")].decode().splitlines()[0]
    on_index = future.replace(",11,65,", ",99,65,", 1)
    on_share = on_index.replace("101126092968407", "101126092968408").replace("101000000026000", "10100000003045")
    on_nothing = on_index.replace("101126092968407", "101126092968409").replace("101000000026000", "-1")
    lines = {"NSE_CM": (share, index), "NSE_FO": (on_index, on_share, on_nothing)}
    csvs = ["".join(f"{line}\n" for line in lines.get(name, ())).encode() for name in instruments.FILES]
    rows = instruments.read_files(bodies(csvs)).rows(named=True)
    assert [row["segment"] for row in rows[2:]] == ["equity_index_futures", "equity_futures", "uncategorised"]


def test_every_segment_is_one_of_ours_and_tokens_are_unique():
    rows = instruments.read_files(bodies()).rows(named=True)
    assert {row["segment"] for row in rows} <= set(SEGMENTS)
    assert len({row["broker_token"] for row in rows}) == len(rows) == 7


def test_a_row_that_names_nothing_is_dropped_and_the_rest_is_kept():
    good = CSVS[0].decode().splitlines()[0]
    lines = (good, good.replace("10100000003045", "", 1), good.replace("NSE:SBIN-EQ", ""), "nonsense", good.upper())
    assert [row["broker_token"] for row in read(*lines)] == ["nse_cm|3045"]


@pytest.mark.parametrize(
    "broken",
    [
        bodies([b"" for _ in CSVS]), bodies([b"a,b\n1,2\n", *CSVS[1:]]), bodies(master=b"<html>"), bodies(master=b"[]"),
        bodies(names=b"<html>"), bodies()[:-1], [],
    ],
)  # fmt: skip
def test_a_body_that_is_not_the_file_is_a_bad_answer(broken):
    with pytest.raises(BadAnswer):
        instruments.read_files(broken)


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=80), st.integers(0, 14))
def test_no_body_whatever_raises_anything_but_a_bad_answer(body, place):
    given_bodies = bodies()
    given_bodies[place] = body
    try:
        rows = instruments.read_files(given_bodies)
    except BadAnswer:
        return
    assert rows.height > 0


BSE_FUTURE = "12112611261163,SENSEX 26 Nov 26 FUT,{kind},20,0.05,,0915-1530:,2026-11-23,1795687200,BSE:SENSEX26NOVFUT,12,11,861163,SENSEX,1,{strike},{side},1210000000001,None,0,0.0"


@every_case(
    ("kind", "strike", "side", "segment"),
    [
        (11, "-1.0", "", "equity_index_futures"),  # the real file of BSE's contracts leaves it blank
        (11, "", "", "equity_index_futures"),
        (11, "-1.0", "XX", "equity_index_futures"),
        (14, "85000.0", "", "uncategorised"),  # an option of a side that nobody tells
        (14, "85000.0", "CE", "equity_index_options"),
        (14, "-1.0", "CE", "uncategorised"),
    ],
)
def test_a_blank_option_type_is_a_futures_unless_there_is_a_strike(kind, strike, side, segment):
    (row,) = read(BSE_FUTURE.format(kind=kind, strike=strike, side=side), name="BSE_FO")
    assert (row["segment"], row["exchange"]) == (segment, "bse")
    if segment == "equity_index_futures":
        assert (row["underlying_symbol"], row["expiry_date"], row["strike_price"]) == ("SENSEX", "2026-11-26", None)
