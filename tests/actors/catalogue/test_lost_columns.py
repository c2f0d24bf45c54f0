"""A column that a broker's file no longer has: only one that says what a listing is costs the file, and that is said.

The files are the simulator's, which writes all ten brokers' formats; those of Fyers have no header, those of Upstox and Angel One are
JSON, where each row has its own.
"""

import csv
import functools
import io

import msgspec
import pytest

from onebroker.actors.catalogue.build import build_catalogue
from onebroker.brokers.requests import BadAnswer
from tests.actors.catalogue.test_security_matching_files import (
    DAY,
    REGISTRY,
    by_token,
    files_of,
    read,
    rewritten,
    rows_of_whole,
)

NAMING = {
    "zerodha": {"instrument_token", "tradingsymbol", "exchange", "segment", "instrument_type", "name", "expiry", "strike"},
    "dhan": {
        "SEM_EXM_EXCH_ID", "SEM_SEGMENT", "SEM_SMST_SECURITY_ID", "SEM_INSTRUMENT_NAME", "SEM_TRADING_SYMBOL", "SEM_CUSTOM_SYMBOL",
        "SEM_EXPIRY_DATE", "SEM_STRIKE_PRICE", "SEM_OPTION_TYPE", "SEM_SERIES", "EXCH_ID", "SEGMENT", "SECURITY_ID",
    },
    "fivepaisa": {"Exch", "ExchType", "ScripCode", "Name", "ScripType"},
    "groww": {
        "exchange", "trading_symbol", "name", "instrument_type", "segment", "series", "underlying_symbol", "expiry_date", "strike_price",
    },
    "icicidirect": {"Token", "ShortName", "Series", "ExchangeCode", "InstrumentName", "ExpiryDate", "StrikePrice", "OptionType"},
    "shoonya": {"Exchange", "Token", "Symbol", "TradingSymbol", "Instrument"},
    "kotakneo": {"pSymbol", "pExchSeg", "pTrdSymbol"},
}  # fmt: skip
"""Broker -> the columns that say what a listing is, without which its file is not read."""
IN_JSON = {"upstox": {"instrument_key", "trading_symbol"}, "angelone": {"token", "symbol", "exch_seg"}}
EVIDENCE = {
    "dhan": {"ISIN", "UNDERLYING_SYMBOL"}, "fivepaisa": {"ISIN", "Series", "SymbolRoot", "Expiry", "StrikeRate", "FullName"},
    "groww": {"isin", "underlying_exchange_token", "exchange_token"}, "icicidirect": {"ISINCode", "ScripID", "ScripCode"},
    "shoonya": {"LotSize", "Expiry", "OptionType", "StrikePrice", "GNGD", "Multiplier"},
    "kotakneo": {
        "pGroup", "pISIN", "pInstType", "pInstName", "pSymbolName", "pOptionType", "lExpiryDate", "dStrikePrice;", "dTickSize",
    },
    "upstox": {"segment", "instrument_type", "underlying_symbol", "underlying_type", "expiry", "strike_price", "isin", "name"},
    "angelone": {"name", "expiry", "strike", "instrumenttype", "lotsize"},
}  # fmt: skip
"""Columns without which a file is read, but what a listing is may be told otherwise."""
IDENTITY = ("exchange", "segment", "symbol", "underlying_symbol", "expiry_date", "strike_price", "option_type")


def without(body, column):
    if body.startswith(b"["):
        return msgspec.json.encode(
            [{name: value for name, value in row.items() if name != column} for row in msgspec.json.decode(body)]
        )
    rows = list(csv.reader(io.StringIO(body.decode()), skipinitialspace=True))
    named = [name.strip() for name in rows[0]]
    if column not in named:
        return body
    at = named.index(column)
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([*row[:at], *row[at + 1 :]] for row in rows)
    return out.getvalue().encode()


@functools.cache
def columns_of(code):
    found = set()

    def note(body):
        found.update(
            msgspec.json.decode(body)[0]
            if body.startswith(b"[")
            else (n.strip() for n in next(csv.reader(io.StringIO(body.decode()), skipinitialspace=True)))
        )
        return body

    rewritten(code, note)
    return sorted(name for name in found if name)


def bodies_without(code, column):
    return rewritten(code, lambda body: without(body, column))


@pytest.mark.parametrize("code", NAMING)
def test_only_columns_that_name_a_listing_are_required(code):
    required = set()
    for column in columns_of(code):
        try:
            frame = read(code, bodies_without(code, column))
        except BadAnswer as error:
            required.add(next(name for name in (column,) if name in str(error)))
            continue
        if column in EVIDENCE.get(code, ()):
            continue
        kept = by_token(frame)
        whole = rows_of_whole(code)
        assert kept.keys() == whole.keys()
        assert all(kept[token][name] == row[name] for token, row in whole.items() for name in IDENTITY), column
    assert required == NAMING[code]


@pytest.mark.parametrize("code", IN_JSON)
def test_of_a_json_row_only_its_names_are_required(code):
    for column in columns_of(code):
        if column in IN_JSON[code] | EVIDENCE[code]:
            continue
        kept, whole = by_token(read(code, bodies_without(code, column))), rows_of_whole(code)
        assert kept.keys() == whole.keys()
        assert all(kept[token][name] == row[name] for token, row in whole.items() for name in IDENTITY), column


def test_a_column_that_a_file_no_longer_has_is_in_the_builds_report(tmp_path):
    bodies = {"dhan": bodies_without("dhan", "SM_FREEZE_QTY"), "zerodha": files_of("zerodha")}
    report = build_catalogue(bodies, {}, tmp_path / "x", REGISTRY, DAY)
    assert report.brokers["dhan"].absent == ["SM_FREEZE_QTY"]
    assert report.brokers["zerodha"].absent == []
    assert report.brokers["dhan"].rows > 100
