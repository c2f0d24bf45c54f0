"""A position in contracts of which nobody knows the size: it is shown in contracts, never in units, and costs no other row.

One ordinary row and one such row for each broker that counts contracts anywhere; field names as its page spells them (docs/brokers/). Groww and
ICICI Direct count units everywhere.
"""

import msgspec
import pytest

from onebroker.brokers.angelone import portfolio as angelone
from onebroker.brokers.dhan import portfolio as dhan
from onebroker.brokers.fivepaisa import portfolio as fivepaisa
from onebroker.brokers.fyers import portfolio as fyers
from onebroker.brokers.kotakneo import portfolio as kotakneo
from onebroker.brokers.requests import WireResponse
from onebroker.brokers.shoonya import portfolio as shoonya
from onebroker.brokers.upstox import portfolio as upstox
from onebroker.brokers.zerodha import portfolio as zerodha


def rows_of(common, share, contract):
    """Both rows: 3 shares, and 2 contracts short of which 1 was sold today and 1 carried in."""
    return [common | share, common | contract]


def nothing_of(names):
    """The quantities that a broker's documents show in every row, each of nothing."""
    return dict.fromkeys(names.split(), 0)


ZERODHA = rows_of(
    nothing_of("overnight_quantity buy_quantity sell_quantity")
    | {"product": "NRML", "average_price": 100.5, "last_price": 101.0, "realised": 0, "unrealised": 1.5},
    {"exchange": "NSE", "tradingsymbol": "INFY", "instrument_token": 1, "quantity": 3, "multiplier": 1},
    {
        "exchange": "MCX", "tradingsymbol": "NEWFUT", "instrument_token": 2, "quantity": -2, "overnight_quantity": -1,
        "sell_quantity": 2, "sell_value": 201.0,
    },
)  # fmt: skip
UPSTOX = rows_of(
    nothing_of("overnight_quantity overnight_buy_quantity overnight_sell_quantity day_buy_quantity day_sell_quantity")
    | {"product": "D", "average_price": 100.5, "last_price": 101.0, "realised": 0, "unrealised": 1.5},
    {"exchange": "NSE", "trading_symbol": "INFY", "instrument_token": "NSE_EQ|INE1", "quantity": 3, "multiplier": 1},
    {
        "exchange": "MCX", "trading_symbol": "NEWFUT", "instrument_token": "MCX_FO|2", "quantity": -2,
        "overnight_quantity": -1, "overnight_sell_quantity": 1, "day_sell_quantity": 1, "sell_value": 201.0,
    },
)  # fmt: skip
DHAN = rows_of(
    nothing_of("buyQty sellQty carryForwardBuyQty carryForwardSellQty dayBuyQty daySellQty")
    | {"productType": "MARGIN", "costPrice": 100.5, "sellAvg": 100.5, "realizedProfit": 0, "unrealizedProfit": 1.5},
    {"exchangeSegment": "NSE_EQ", "tradingSymbol": "INFY", "securityId": "1", "netQty": 3},
    {
        "exchangeSegment": "MCX_COMM", "tradingSymbol": "NEWFUT", "securityId": "2", "netQty": -2, "sellQty": 2,
        "carryForwardSellQty": 1, "daySellQty": 1, "carryForwardSellValue": 100.5, "daySellValue": 100.5, "multiplier": 0,
    },
)  # fmt: skip
ANGELONE = rows_of(
    {
        "producttype": "CARRYFORWARD", "totalsellavgprice": "100.50", "totalbuyavgprice": "100.50", "realised": "0.00",
        "unrealised": "1.50", "buyqty": "0", "sellqty": "0", "cfbuyqty": "0", "cfsellqty": "0",
    },
    {"exchange": "NSE", "tradingsymbol": "INFY", "symboltoken": "1", "netqty": "3", "buyqty": "3", "lotsize": "1"},
    {
        "exchange": "MCX", "tradingsymbol": "NEWFUT", "symboltoken": "2", "netqty": "-2", "sellqty": "1", "cfsellqty": "1",
        "totalsellvalue": "201.00", "lotsize": "1", "instrumenttype": "FUTCOM",
    },
)  # fmt: skip
FYERS = rows_of(
    nothing_of("buyQty sellQty cfBuyQty cfSellQty dayBuyQty daySellQty")
    | {"productType": "MARGIN", "netAvg": 100.5, "ltp": 101.0, "realized_profit": 0, "unrealized_profit": 1.5},
    {"id": "NSE:INFY-EQ-MARGIN", "symbol": "NSE:INFY-EQ", "fyToken": "10100000001594", "netQty": 3, "segment": 10,
     "exchange": 10},
    {
        "id": "MCX:NEWFUT-MARGIN", "symbol": "MCX:NEWFUT", "fyToken": "1120261218565899", "netQty": -2, "sellQty": 2,
        "cfSellQty": 1, "daySellQty": 1, "sellVal": 201.0, "segment": 20, "exchange": 11,
    },
)  # fmt: skip
FIVEPAISA = rows_of(
    nothing_of("BodQty BuyQty SellQty")
    | {"OrderFor": "D", "BuyAvgRate": 100.5, "SellAvgRate": 100.5, "LTP": 101.0, "BookedPL": 0, "MTOM": 1.5},
    {"Exch": "N", "ExchType": "C", "ScripCode": 1, "ScripName": "INFY", "NetQty": 3, "BuyQty": 3},
    {
        "Exch": "M", "ExchType": "D", "ScripCode": 2, "ScripName": "NEWFUT", "NetQty": -2, "SellQty": 2, "BodQty": -1,
        "SellValue": 201.0, "Multiplier": 1,
    },
)  # fmt: skip
KOTAKNEO = rows_of(
    {
        "prod": "NRML", "lotSz": "1", "multiplier": "1", "buyAmt": "0.00", "sellAmt": "0.00", "cfBuyAmt": "0.00",
        "cfSellAmt": "0.00", "cfBuyQty": "0", "cfSellQty": "0", "flBuyQty": "0", "flSellQty": "0",
    },
    {"exSeg": "nse_cm", "tok": "1", "trdSym": "INFY-EQ", "flBuyQty": "3", "buyAmt": "301.50"},
    {
        "exSeg": "mcx_fo", "tok": "2", "trdSym": "NEWFUT", "cfSellQty": "1", "flSellQty": "1", "cfSellAmt": "100.50",
        "sellAmt": "100.50",
    },
)  # fmt: skip
SHOONYA = rows_of(
    {"prd": "M", "netavgprc": "100.50", "netupldprc": "100.50", "lp": "101.00", "rpnl": "0.00", "urmtom": "1.50"},
    {"exch": "NSE", "token": "1", "tsym": "INFY-EQ", "netqty": "3", "daybuyqty": "3"},
    {"exch": "MCX", "token": "2", "tsym": "NEWFUT", "netqty": "-2", "cfsellqty": "1", "daysellqty": "1"},
)

BROKERS = {
    "zerodha": (zerodha, lambda rows: {"status": "success", "data": {"net": rows, "day": rows}}, ZERODHA),
    "upstox": (upstox, lambda rows: {"status": "success", "data": rows}, UPSTOX),
    "dhan": (dhan, lambda rows: rows, DHAN),
    "angelone": (
        angelone,
        lambda rows: {"status": True, "message": "SUCCESS", "errorcode": "", "data": rows},
        ANGELONE,
    ),
    "fyers": (fyers, lambda rows: {"s": "ok", "netPositions": rows}, FYERS),
    "fivepaisa": (
        fivepaisa,
        lambda rows: {"head": {"status": "0"}, "body": {"Status": 0, "NetPositionDetail": rows}},
        FIVEPAISA,
    ),
    "kotakneo": (kotakneo, lambda rows: {"stat": "ok", "stCode": 200, "data": rows}, KOTAKNEO),
    "shoonya": (shoonya, lambda rows: rows, SHOONYA),
}


@pytest.fixture(params=BROKERS)
def read(request):
    portfolio, envelope, rows = BROKERS[request.param]
    response = WireResponse(status=200, body=msgspec.json.encode(envelope(rows)))
    return portfolio.parse_positions([response], {})


def test_only_the_row_whose_contracts_nobody_knows_is_without_units(read):
    share, contract = (row for row in read if row.view == "net")
    assert (share.quantity, share.contracts) == (3, None)
    assert (contract.quantity, contract.contracts) == (None, -2)


def test_no_quantity_and_no_value_of_such_a_row_is_a_guess(read):
    for row in read:
        if row.contracts is not None:
            assert row.sell_quantity is None
            assert row.sell_value is None
            assert row.buy_quantity == 0
            assert row.overnight_quantity in (None, 0)
            assert row.average_price in (None, 100.5)


def test_the_day_view_of_such_a_row_is_in_contracts_too(read):
    days = [row for row in read if row.view == "day" and row.contracts is not None]
    assert all(row.quantity is None and row.contracts < 0 for row in days)
    assert days
