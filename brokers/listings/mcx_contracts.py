"""The sizes of MCX's contracts: the one table with which instrument files are read and checked.

A contract has two sizes, and a broker's file gives one or the other. The *trading unit* is the amount that the exchange
delivers and counts in lots (GOLD: 1 kilogram). The *units of quotation* are the factor from a price to the value of one
contract (GOLD: 100, because its price is per 10 grams). Our units are the units of quotation: quantity times price is
rupees.

Sources: Zerodha's commodity margin calculator of 2 September 2026, with which Angel One's scrip master agrees on all of
the 30, as gathered in openalgo (github.com/marketcalls/openalgo, `mcx_contract_size.py`; its quotation units are MCX's
contract specifications); MCXBULLDEX of 30 also in Upstox' announcement of 27 October 2025. Not read in a circular by us.
A size that is not here is unknown, never 1.
"""

from __future__ import annotations

from datetime import date
from typing import Final

import attrs

from onebroker.config.late_modules import pl


@attrs.frozen
class Contract:
    """One size of an underlying's contracts."""

    trading_unit: int
    """In the exchange's own unit for it: kilograms, grams, tonnes, barrels, bales, rupees an index point."""
    units: int
    """Units of quotation."""
    first_expiry: date = date.min
    """First expiry of the contracts with this size; it holds until the next size in the table."""


CONTRACTS: Final = {
    "ALUMINI": (Contract(1, 1000),),
    "ALUMINIUM": (Contract(5, 5000),),
    "CARDAMOM": (Contract(100, 100),),
    "COPPER": (Contract(2500, 2500),),
    "COTTON": (Contract(25, 25),),
    "COTTONOIL": (Contract(5, 500),),
    "CRUDEOIL": (Contract(100, 100),),
    "CRUDEOILM": (Contract(10, 10),),
    "ELECDMBL": (Contract(50, 50),),
    "GOLD": (Contract(1, 100),),
    "GOLDGUINEA": (Contract(8, 1),),
    "GOLDM": (Contract(100, 10),),
    "GOLDPETAL": (Contract(1, 1),),
    "GOLDTEN": (Contract(10, 1),),
    "KAPAS": (Contract(4, 200),),
    "LEAD": (Contract(5, 5000),),
    "LEADMINI": (Contract(1, 1000),),
    "MCXBULLDEX": (Contract(30, 30), Contract(15, 15, date(2026, 11, 1))),
    "MCXMETLDEX": (Contract(40, 40),),
    "MENTHAOIL": (Contract(360, 360),),
    "NATGASMINI": (Contract(250, 250),),
    "NATURALGAS": (Contract(1250, 1250),),
    "NICKEL": (Contract(250, 250),),
    "SILVER": (Contract(30, 30),),
    "SILVER100": (Contract(100, 10),),
    "SILVERM": (Contract(5, 5),),
    "SILVERMIC": (Contract(1, 1),),
    "STEELREBAR": (Contract(5, 5),),
    "ZINC": (Contract(5, 5000),),
    "ZINCMINI": (Contract(1, 1000),),
}
"""Underlying, as all files write it -> its sizes by first expiry, oldest first."""


def contract(underlying: str | None, expiry: str | None) -> Contract | None:
    """Return the contract of an underlying for an expiry (ISO date); None when its size is not known."""
    sizes = CONTRACTS.get((underlying or "").strip().upper(), ())
    if not sizes or expiry is None:
        return None
    day = date.fromisoformat(expiry)
    return next((size for size in reversed(sizes) if day >= size.first_expiry), None)


def units_of(underlying: pl.Expr, expiry: pl.Expr) -> pl.Expr:
    """Return the units of quotation in one contract; `expiry` as ISO date; null when not known."""
    return _sized(underlying, expiry, "units")


def trading_unit_of(underlying: pl.Expr, expiry: pl.Expr) -> pl.Expr:
    """Return the exchange's trading unit of one contract; arguments and nulls as for `units_of`."""
    return _sized(underlying, expiry, "trading_unit")


def _sized(underlying: pl.Expr, expiry: pl.Expr, field: str) -> pl.Expr:
    name = underlying.str.to_uppercase()
    sized = name.replace_strict(
        {symbol: getattr(sizes[0], field) for symbol, sizes in CONTRACTS.items()}, default=None, return_dtype=pl.Int64
    )
    for symbol, sizes in CONTRACTS.items():
        for later in sizes[1:]:
            since = (name == symbol) & (expiry >= later.first_expiry.isoformat())
            sized = pl.when(since).then(pl.lit(getattr(later, field), pl.Int64)).otherwise(sized)
    return pl.when(expiry.is_not_null()).then(sized)
