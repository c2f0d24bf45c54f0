"""What the contracts on an index are called by their exchange, for files that call them as the index itself. Pure; polars.

NSE lists contracts on NIFTY 50 under NIFTY, on NIFTY BANK under BANKNIFTY (nseindia.com, "Equity derivatives: underlyings"); ICICI
Direct's file has the index' name there. This table stands in the seam of all codecs, because a contract's id holds the name: it
must not depend on what other brokers' files there are to compare with. A name that is not here is learnt from the numbers of the
contracts (`actors/catalogue/contracts.py`).
"""

from collections.abc import Mapping

import polars as pl

CONTRACT_NAMES: Mapping[str, Mapping[str, str]] = {
    "nse": {
        "NIFTY50": "NIFTY",
        "NIFTYBANK": "BANKNIFTY",
        "NIFTYFINANCIAL": "FINNIFTY",  # as ICICI Direct has it
        "NIFTYFINSERVICE": "FINNIFTY",
        "NIFTYFINANCIALSERVICES": "FINNIFTY",
        "NIFTYMIDCAP": "MIDCPNIFTY",  # as ICICI Direct has it
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

_ON_INDEX = r"^equity_index_(futures|options)$"


def with_contract_names(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with `underlying_symbol` of contracts on indices as their exchange calls it. Uses `exchange` and `segment`."""
    spelled = pl.col("underlying_symbol").str.to_uppercase().str.replace_all(r"[^A-Z0-9]", "")
    on_index = pl.col("segment").str.contains(_ON_INDEX)
    named = pl.coalesce(
        *(
            pl.when(on_index & (pl.col("exchange") == exchange)).then(
                spelled.replace_strict(names, default=None, return_dtype=pl.String)
            )
            for exchange, names in CONTRACT_NAMES.items()
        ),
        "underlying_symbol",
    )
    return rows.with_columns(underlying_symbol=named)
