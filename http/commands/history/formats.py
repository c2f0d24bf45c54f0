"""Recognises other programs' files by their header and reads them as if they had our columns. They are the exchanges' bhavcopies,
and candles of one instrument as Kite and most programs write them.

| Format | Header | What it gives |
|---|---|---|
| UDiFF bhavcopy of NSE and BSE, cash and derivatives (since 2024) | `TradDt`, `Sgmt`, `TckrSymb`, `OpnPric` ... | day candles |
| the bhavcopy before it, cash | `SYMBOL`, `SERIES`, `TOTTRDQTY`, `TIMESTAMP`, `ISIN` ... | day candles |
| the same, derivatives | `INSTRUMENT`, `EXPIRY_DT`, `CONTRACTS`, `TIMESTAMP` ... | day candles without a volume |
| one instrument | `date` (or `datetime`, `timestamp`), `open`, `high`, `low`, `close`, `volume`, `oi` | candles of what the options name |

Contracts that did not trade on a day have no candle and are left out. The source of the layouts is the exchanges' files as public
programs read and print them (2026-11; not compared with a circular).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import attrs
import polars as pl

from onebroker.actors.history.row_checks import CANDLE_FIELDS, ROW
from onebroker.brokers.listings.frame import NSE_SHARES, by_isin, by_series, listed_symbol
from onebroker.http.commands.exit_codes import WRONG_USE, CommandFailed
from onebroker.http.commands.history.row_instruments import NAMES
from onebroker.http.commands.history.text_tables import Chunk, TextTable

Shape = Callable[[pl.DataFrame], pl.DataFrame]

_UDIFF = ("TradDt", "Sgmt", "Src", "FinInstrmTp", "ISIN", "TckrSymb", "SctySrs", "XpryDt", "StrkPric", "OptnTp", "OpnPric",
          "HghPric", "LwPric", "ClsPric", "OpnIntrst", "TtlTradgVol", "TtlTrfVal", "NewBrdLotQty")  # fmt: skip
_OLD_CASH = ("SYMBOL", "SERIES", "OPEN", "HIGH", "LOW", "CLOSE", "TOTTRDQTY", "TIMESTAMP", "ISIN")
_OLD_CONTRACTS = ("INSTRUMENT", "SYMBOL", "EXPIRY_DT", "STRIKE_PR", "OPTION_TYP", "OPEN", "HIGH", "LOW", "CLOSE", "CONTRACTS",
                  "OPEN_INT", "TIMESTAMP")  # fmt: skip
_CONTRACTS = {
    "IDF": "equity_index_futures", "IDO": "equity_index_options", "STF": "equity_futures", "STO": "equity_options",
    "FUTIDX": "equity_index_futures", "OPTIDX": "equity_index_options", "FUTSTK": "equity_futures", "OPTSTK": "equity_options",
}  # fmt: skip
"""Contract type in either bhavcopy -> segment."""
_TIMES = ("date", "datetime", "timestamp")
_FILE_FIELDS = ("exchange", "segment", "symbol", "underlying_symbol", "expiry_date", "strike_price", "option_type",
                *CANDLE_FIELDS)  # fmt: skip
OPTIONS = (*NAMES, "interval")
"""What the options can say about a file that does not say it itself."""


@attrs.frozen
class ShapedTable:
    """A file with other columns, shown as a table with our columns."""

    table: TextTable
    columns: Sequence[str]
    shape: Shape

    def chunks(self) -> Iterator[Chunk]:
        for chunk in self.table.chunks():
            yield attrs.evolve(chunk, rows=self.shape(chunk.rows))


def recognised(path: Path, table: TextTable, given: Mapping[str, str]) -> TextTable:
    """Return the table with our columns. `given`: what the options say, by the names of OPTIONS. Raises CommandFailed
    for an option that repeats what the file itself says."""
    for needed, shape in ((_UDIFF, _udiff), (_OLD_CASH, _old_cash), (_OLD_CONTRACTS, _old_contracts)):
        if set(needed) <= set(table.columns):
            _refuse(path, given)
            return ShapedTable(table, _FILE_FIELDS, shape)
    _refuse(path, [name for name in given if name in table.columns])
    names = _renamed(table.columns)
    if not given and all(old == new for old, new in names.items()):
        return table

    def named(rows: pl.DataFrame) -> pl.DataFrame:
        return rows.rename(names).with_columns(pl.lit(text).alias(name) for name, text in given.items())

    return ShapedTable(table, [*(names[name] for name in table.columns), *given], named)


def _refuse(path: Path, said: Mapping[str, str] | Sequence[str]) -> None:
    if said:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in said)
        raise CommandFailed(f"{path} says itself what {options} would say", WRONG_USE)


def _renamed(columns: Sequence[str]) -> dict[str, str]:
    """Return our name for each column: candle fields are matched in any case, and a column of times by its usual names."""
    lower = [name.lower() for name in columns]
    names = dict(zip(columns, columns, strict=True))
    for name, small in zip(columns, lower, strict=True):
        if small in CANDLE_FIELDS and lower.count(small) == 1:
            names[name] = small
        elif small in _TIMES and "time" not in lower and sum(lower.count(time_name) for time_name in _TIMES) == 1:
            names[name] = "time"
    return names


# bhavcopies ----------------------------------------------------------------------------------------------------------------


def _text(name: str) -> pl.Expr:
    text = pl.col(name).str.strip_chars()
    return pl.when(~text.is_in(["", "-"])).then(text)


def _number(name: str) -> pl.Expr:
    return _text(name).cast(pl.Float64, strict=False)


def _udiff(rows: pl.DataFrame) -> pl.DataFrame:
    cash, exchange = pl.col("Sgmt") == "CM", _text("Src").str.to_lowercase()
    lots, lot = _number("TtlTradgVol"), _number("NewBrdLotQty")
    # Contracts are counted in lots or in units, shares in units. The turnover shows which (for options: with their
    # strike).
    price = _number("ClsPric") + pl.when(_text("OptnTp").is_not_null()).then(_number("StrkPric")).otherwise(0.0)
    in_units = (_number("TtlTrfVal") / (lots * price)).log().abs() < (
        _number("TtlTrfVal") / (lots * lot * price)
    ).log().abs()
    units = pl.when(cash | in_units).then(lots).otherwise(lots * lot)
    shaped = _candles(
        rows,
        exchange=exchange,
        segment=pl.when(cash)
        .then(_cash_segment(exchange, _text("ISIN"), _text("SctySrs")))
        .otherwise(_text("FinInstrmTp").replace_strict(_CONTRACTS, default=None)),
        symbol=pl.when(cash).then(listed_symbol(exchange, _text("TckrSymb"), _text("SctySrs"))),
        underlying_symbol=pl.when(~cash).then(_text("TckrSymb")),
        expiry_date=_text("XpryDt"),
        strike_price=pl.when(_text("OptnTp").is_not_null()).then(_text("StrkPric")),
        option_type=_text("OptnTp"),
        time=_text("TradDt"),
        prices=("OpnPric", "HghPric", "LwPric", "ClsPric"),
        volume=pl.when(units.is_finite()).then(units).cast(pl.Int64, strict=False).cast(pl.String),
        oi=pl.when(~cash).then(_text("OpnIntrst")),
    )
    return shaped.filter(rows.select(lots.fill_null(1.0) > 0).to_series())


def _old_cash(rows: pl.DataFrame) -> pl.DataFrame:
    nse = pl.lit("nse")
    return _candles(
        rows,
        exchange=nse,
        segment=_cash_segment(nse, _text("ISIN"), _text("SERIES")),
        symbol=listed_symbol(nse, _text("SYMBOL"), _text("SERIES")),
        time=_day("TIMESTAMP"),
        prices=("OPEN", "HIGH", "LOW", "CLOSE"),
        volume=_text("TOTTRDQTY"),
    )


def _old_contracts(rows: pl.DataFrame) -> pl.DataFrame:
    option = _text("OPTION_TYP").is_in(["CE", "PE"])
    shaped = _candles(
        rows,
        exchange=pl.lit("nse"),
        segment=_text("INSTRUMENT").replace_strict(_CONTRACTS, default=None),
        underlying_symbol=_text("SYMBOL"),
        expiry_date=_day("EXPIRY_DT"),
        strike_price=pl.when(option).then(_text("STRIKE_PR")),
        option_type=pl.when(option).then(_text("OPTION_TYP")),
        time=_day("TIMESTAMP"),
        prices=("OPEN", "HIGH", "LOW", "CLOSE"),
        # The volume is in contracts, and the file does not say how many units one contract has.
        oi=_text("OPEN_INT"),
    )
    return shaped.filter(rows.select(_number("CONTRACTS").fill_null(1.0) > 0).to_series())


def _cash_segment(exchange: pl.Expr, isin: pl.Expr, series: pl.Expr) -> pl.Expr:
    """Return the segment of a security; null for series (rights, block windows) that belong to no instrument of ours."""
    of_isin = by_isin(isin)
    traded = (exchange != "nse") | (of_isin == "fixed_income") | series.str.contains(NSE_SHARES)
    return pl.coalesce(by_series(exchange, series), pl.when(traded).then(of_isin))


def _day(name: str) -> pl.Expr:
    """Read days written as `15-MAR-2024`. Any other text stays as it is, so that it is refused with its text."""
    return pl.coalesce(_text(name).str.to_date("%d-%b-%Y", strict=False).cast(pl.String), _text(name))


def _candles(rows: pl.DataFrame, *, prices: Sequence[str], **columns: pl.Expr) -> pl.DataFrame:
    """Return day candles with `row` and _FILE_FIELDS; columns that are not given are null."""
    given = {
        **columns,
        "interval": pl.lit("day"),
        **dict(zip(("open", "high", "low", "close"), map(_text, prices), strict=True)),
    }
    return rows.select(ROW, *(given.get(name, pl.lit(None)).cast(pl.String).alias(name) for name in _FILE_FIELDS))
