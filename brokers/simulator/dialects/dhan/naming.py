"""How Dhan names the exchange's contracts: segments, security ids, trading symbols, the two instrument files."""

from collections.abc import Iterable, Mapping, Sequence

import attrs

from onebroker.brokers.simulator.dialects.dialect import AccountView
from onebroker.brokers.simulator.dialects.listed import Listed
from onebroker.brokers.simulator.dialects.rest import csv_file
from onebroker.brokers.simulator.dialects.symbols import expiry_of, units_of
from onebroker.brokers.simulator.world.conventions import INDEX_SYMBOLS
from onebroker.brokers.simulator.world.model import Contract, Market
from onebroker.config.instruments import Shape, strike_text

_PARTS = {
    "equity": "E", "index": "I", "equity_derivative": "D", "currency": "C", "commodity": "M",
}  # fmt: skip
_SEGMENTS: Mapping[tuple[str, str], tuple[str, int]] = {
    ("nse", "E"): ("NSE_EQ", 1), ("nse", "D"): ("NSE_FNO", 2), ("nse", "C"): ("NSE_CURRENCY", 3),
    ("bse", "E"): ("BSE_EQ", 4), ("mcx", "M"): ("MCX_COMM", 5), ("bse", "C"): ("BSE_CURRENCY", 7),
    ("bse", "D"): ("BSE_FNO", 8), ("nse", "I"): ("IDX_I", 0), ("bse", "I"): ("IDX_I", 0), ("mcx", "I"): ("IDX_I", 0),
}  # fmt: skip
"""(exchange, segment letter) -> the segment's name and its number on the feed."""
_INSTRUMENTS = {
    "equity_index_futures": "FUTIDX", "equity_index_options": "OPTIDX", "equity_futures": "FUTSTK",
    "equity_options": "OPTSTK", "currency_futures": "FUTCUR", "currency_options": "OPTCUR",
    "commodity_futures": "FUTCOM", "commodity_options": "OPTFUT",
}  # fmt: skip
_KINDS_OF_SHARE = {"exchange_traded_funds": "ETF", "mutual_funds": "MF", "fixed_income": "DBT"}
_SHORT_INDEX_NAMES = {symbol: short for short, symbol in INDEX_SYMBOLS.items()}

_COMPACT = (
    "SEM_EXM_EXCH_ID", "SEM_SEGMENT", "SEM_SMST_SECURITY_ID", "SEM_INSTRUMENT_NAME", "SEM_EXPIRY_CODE",
    "SEM_TRADING_SYMBOL", "SEM_LOT_UNITS", "SEM_CUSTOM_SYMBOL", "SEM_EXPIRY_DATE", "SEM_STRIKE_PRICE", "SEM_OPTION_TYPE",
    "SEM_TICK_SIZE", "SEM_EXPIRY_FLAG", "SEM_EXCH_INSTRUMENT_TYPE", "SEM_SERIES", "SM_SYMBOL_NAME",
)  # fmt: skip
_DETAILED = (
    "EXCH_ID", "SEGMENT", "SECURITY_ID", "ISIN", "INSTRUMENT", "UNDERLYING_SECURITY_ID", "UNDERLYING_SYMBOL",
    "SYMBOL_NAME", "DISPLAY_NAME", "INSTRUMENT_TYPE", "SERIES", "LOT_SIZE", "SM_EXPIRY_DATE", "STRIKE_PRICE",
    "OPTION_TYPE", "TICK_SIZE", "EXPIRY_FLAG", "BRACKET_FLAG", "COVER_FLAG", "ASM_GSM_FLAG", "ASM_GSM_CATEGORY",
    "BUY_SELL_INDICATOR", "BUY_CO_MIN_MARGIN_PER", "BUY_CO_SL_RANGE_MAX_PERC", "BUY_CO_SL_RANGE_MIN_PERC",
    "BUY_BO_MIN_MARGIN_PER", "BUY_BO_PROFIT_RANGE_MAX_PERC", "BUY_BO_PROFIT_RANGE_MIN_PERC", "MTF_LEVERAGE",
    "SM_UPPER_LIMIT", "SM_LOWER_LIMIT", "SM_FREEZE_QTY",
)  # fmt: skip
_TEST_ROW = (
    "NSE",
    "E",
    "9999",
    "EQUITY",
    "0",
    "011NSETEST",
    "1.0",
    "NSE Test",
    "",
    "",
    "",
    "5.0000",
    "NA",
    "ES",
    "EQ",
    "",
)
"""An exchange's test symbol, as the real file contains it."""


@attrs.frozen(kw_only=True)
class Name:
    """One contract under Dhan's names."""

    contract: Contract
    part: str
    """The segment's letter in files and order alerts."""
    segment: str
    segment_number: int
    instrument: str
    tradingsymbol: str
    display: str

    @property
    def security_id(self) -> int:
        return self.contract.exchange_token

    @property
    def exchange(self) -> str:
        return self.contract.identity.exchange.upper()

    @property
    def units(self) -> int:
        """Units in one of Dhan's quantities: a lot for currency and commodity, one unit elsewhere."""
        return units_of(self.contract)

    @property
    def option_type(self) -> str | None:
        """CALL or PUT, as rows name it; None for other contracts."""
        return {"CE": "CALL", "PE": "PUT"}.get(self.contract.identity.option_type or "")

    @property
    def expiry(self) -> str | None:
        return self.contract.identity.expiry_date

    @property
    def strike(self) -> float:
        return self.contract.identity.strike_price or 0.0


def name_of(contract: Contract) -> Name | None:
    """Return Dhan's name of a contract, or None for a contract that it does not list (ncdex)."""
    identity = contract.identity
    if contract.is_index:
        part = "I"
    elif identity.shape is Shape.SECURITY:
        part = "E"
    else:
        part = {"equity": "D", "currency": "C", "commodity": "M"}[contract.calendar]
    found = _SEGMENTS.get((identity.exchange, part))
    if found is None:
        return None
    if identity.shape is not Shape.SECURITY:
        symbol, display = _contract_names(contract, part)
        instrument = _INSTRUMENTS[contract.bare]
    elif contract.is_index:
        symbol, display = _SHORT_INDEX_NAMES.get(str(identity.symbol), str(identity.symbol)), contract.name
        symbol = str(identity.symbol) if identity.exchange == "bse" else symbol
        instrument = "INDEX"
    else:
        symbol, display, instrument = str(identity.symbol), contract.name, "EQUITY"
    return Name(
        contract=contract, part=part, segment=found[0], segment_number=found[1], instrument=instrument,
        tradingsymbol=symbol, display=display,
    )  # fmt: skip


def compact_file(names: Iterable[Name]) -> bytes:
    """Return the compact CSV."""
    return csv_file(_COMPACT, [_TEST_ROW, *(_compact_row(name) for name in names)])


def detailed_file(names: Iterable[tuple[Name, Market]]) -> bytes:
    """Return the detailed CSV. Its lines end with a comma."""
    rows = [(*_detailed_row(name, market), "") for name, market in names]
    return csv_file((*_DETAILED, ""), rows)


def _contract_names(contract: Contract, part: str) -> tuple[str, str]:
    identity = contract.identity
    expiry = expiry_of(contract)
    underlying = str(identity.underlying_symbol)
    when = {"D": f"{expiry:%b%Y}", "C": f"{expiry:%d%b%Y}".upper(), "M": f"{expiry:%d%b%Y}"}[part]
    if identity.shape is Shape.FUTURE:
        return f"{underlying}-{when}-FUT", f"{underlying} {expiry:%b} FUT".upper()
    strike = strike_text(identity.strike_price or 0.0)
    word = "CALL" if identity.option_type == "CE" else "PUT"
    return (
        f"{underlying}-{when}-{strike}-{identity.option_type}",
        f"{underlying} {expiry:%d %b} {strike} {word}".upper(),
    )


def _lot(name: Name) -> str:
    """Return the file's lot size; one where quantities are lots."""
    return f"{name.contract.lot_size // name.units:.1f}"


def _tick(name: Name) -> str:
    """Return the tick size in paise, for indices in rupees."""
    tick = name.contract.tick_size
    return f"{tick if name.part == 'I' else tick * 100:.4f}"


def _strike(name: Name) -> str:
    """Return the strike. Futures have a placeholder."""
    if name.contract.identity.shape is Shape.FUTURE:
        return "0.00000" if name.part == "M" else "-0.01000"
    return f"{name.strike:.5f}" if name.strike else ""


def _compact_row(name: Name) -> tuple[str, ...]:
    contract, identity = name.contract, name.contract.identity
    derivative = identity.shape is not Shape.SECURITY
    hour = "23:30:00" if name.part == "M" else "14:30:00"
    expiry = f"{identity.expiry_date} {hour}" if derivative else "0001-01-01" if name.part == "I" else ""
    kind = "INDEX" if name.part == "I" else name.instrument if derivative else _KINDS_OF_SHARE.get(contract.bare, "ES")
    title = (
        "" if name.instrument == "FUTIDX" else str(identity.underlying_symbol) if derivative else contract.name.upper()
    )
    return (
        name.exchange, name.part, str(name.security_id), name.instrument, "0", name.tradingsymbol, _lot(name), name.display,
        expiry, _strike(name), identity.option_type or ("XX" if derivative or name.part == "I" else ""), _tick(name),
        "M" if derivative else "NA", kind, "X" if name.part == "I" else contract.series, title,
    )  # fmt: skip


def _detailed_row(name: Name, market: Market) -> tuple[str, ...]:
    contract, identity = name.contract, name.contract.identity
    derivative = identity.shape is not Shape.SECURITY
    freeze = (contract.freeze_quantity or 0) // name.units
    symbol = str(identity.underlying_symbol if derivative and name.exchange != "NSE" else name.tradingsymbol)
    underlying = str(identity.underlying_symbol if derivative else identity.symbol)
    return (
        name.exchange, name.part, str(name.security_id), contract.isin or "NA", name.instrument, "",
        underlying, symbol, name.display, name.instrument if derivative else "ES",
        contract.series or "NA", _lot(name), identity.expiry_date or "", _strike(name),
        identity.option_type or ("XX" if derivative else ""), _tick(name), "M" if derivative else "NA",
        "N", "N", "N", "NA", "A", "0", "0", "0", "0", "0", "0", "0",
        f"{market.upper_circuit:.4f}", f"{market.lower_circuit:.4f}", str(freeze),
    )  # fmt: skip


class DhanNames(Listed[Name]):
    """Dhan's names for one account, also by segment and security id."""

    def __init__(self, account: AccountView) -> None:
        super().__init__(account, name_of)

    @property
    def by_key(self) -> Mapping[tuple[str, str], Name]:
        """(segment, security id as text) -> name."""
        self._refresh()
        return self._by_key

    def _index(self, names: Sequence[Name]) -> None:
        self._by_key = {(name.segment, str(name.security_id)): name for name in names}
