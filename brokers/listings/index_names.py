"""The exchange's name for the contracts on an index, for files that use the index's own name instead. Pure; polars.

NSE lists contracts on NIFTY 50 under NIFTY, on NIFTY BANK under BANKNIFTY (nseindia.com, "Equity derivatives:
underlyings"); ICICI Direct's file has the index' name there. A contract's id holds the name, so the name must not depend
on which other brokers' files are available to compare with. All codecs therefore share this table. A name that is not in
the table is learnt from the numbers of the contracts (`actors/catalogue/contract_matching.py`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from onebroker.config.late_modules import pl

CONTRACT_NAMES: Mapping[str, Mapping[str, str]] = {
    "nse": {
        "NIFTY50": "NIFTY",
        "NIFTYBANK": "BANKNIFTY",
        "NIFTYFINANCIAL": "FINNIFTY",  # as in ICICI Direct's file
        "NIFTYFINSERVICE": "FINNIFTY",
        "NIFTYFINANCIALSERVICES": "FINNIFTY",
        "NIFTYMIDCAP": "MIDCPNIFTY",  # as in ICICI Direct's file
        "NIFTYMIDSELECT": "MIDCPNIFTY",
        "NIFTYMIDCAPSELECT": "MIDCPNIFTY",
        "NIFTYNEXT50": "NIFTYNXT50",
    },
    "bse": {
        "BSESENSEX": "SENSEX",
        "SPBSESENSEX": "SENSEX",
        "BSEBANKEX": "BANKEX",
        "SPBSEBANKEX": "BANKEX",
        "BSESENSEX50": "SENSEX50",
        "SPBSESENSEX50": "SENSEX50",
    },
}
"""Exchange -> name of an index, without blanks and signs -> name of its contracts."""

_ON_INDEX = ("equity_index_futures", "equity_index_options")


def with_contract_names(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows; `underlying_symbol` of contracts on indices becomes the exchange's name. Uses `exchange` and `segment`."""
    on_index = pl.col("segment").is_in(_ON_INDEX)
    called = rows.filter(on_index).select("exchange", "underlying_symbol").unique().rows()
    other = {
        (exchange, name): now
        for exchange, name in called
        if (now := _contract_name(exchange, name)) not in (None, name)
    }
    if not other:
        return rows
    renamed = [
        pl.when(on_index & (pl.col("exchange") == exchange) & (pl.col("underlying_symbol") == name)).then(pl.lit(now))
        for (exchange, name), now in other.items()
    ]
    return rows.with_columns(underlying_symbol=pl.coalesce(*renamed, "underlying_symbol"))


def _contract_name(exchange: str | None, name: str | None) -> str | None:
    """Return the exchange's name for contracts on the index `name`; None for a name that is not an index in the table."""
    spelled = re.sub(r"[^A-Z0-9]", "", (name or "").upper())
    return CONTRACT_NAMES.get(exchange or "", {}).get(spelled)
