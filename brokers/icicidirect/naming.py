"""ICICI Direct's name of an instrument: exchange code, its own short name, expiry, strike and right.

Rows, orders, quotes and candles use this name; only the streams use numbers. So our broker_token is that name
(`NSE:RELIND`, `NFO:CNXBAN:2026-09-29:72600:CE`). The tradingsymbol is the SDK's contract name
(`OPT-CNXBAN-29-Sep-2026-72600-CE`). A listing's other_names is its room on the streams, without the level (`4!35000`).
"""

from collections.abc import Mapping
from datetime import date

import attrs

from onebroker.brokers.codec.fields import required
from onebroker.brokers.icicidirect import values
from onebroker.brokers.records import Listing
from onebroker.config.instruments import strike_text

STREAM_EXCHANGES = {"BSE": "1", "NSE": "4", "NFO": "4", "MCX": "6", "BFO": "8", "NDX": "13"}
"""Exchange code -> first digits of its rooms."""


@attrs.frozen
class Name:
    """One instrument by the broker's own identity."""

    exchange: str
    """The broker's code."""
    stock_code: str
    expiry: date | None = None
    strike: float | None = None
    """Rupees; only together with `right`."""
    right: str | None = None
    """CE or PE."""

    @property
    def product(self) -> str:
        """Return the broker's word for the kind of instrument."""
        if self.expiry is None:
            return values.CASH
        return values.FUTURES if self.right is None else values.OPTIONS

    @property
    def token(self) -> str:
        """Return our broker_token."""
        parts = [self.exchange, self.stock_code]
        if self.expiry is not None:
            parts.append(self.expiry.isoformat())
        if self.right is not None:
            parts += [strike_text(self.strike or 0.0), self.right]
        return ":".join(parts)

    @property
    def symbol(self) -> str:
        """Return the contract name: `RELIND`, `FUT-NIFTY-27-Feb-2025`, `OPT-NIFTY-27-Feb-2025-24800-CE`."""
        if self.expiry is None:
            return self.stock_code
        contract = f"{self.stock_code}-{values.day_text(self.expiry)}"
        if self.right is None:
            return f"FUT-{contract}"
        return f"OPT-{contract}-{strike_text(self.strike or 0.0)}-{self.right}"

    def fields(self) -> dict[str, str]:
        """Return the derivative's fields of a request: expiry_date, right, strike_price; empty for a share."""
        if self.expiry is None:
            return {}
        return {
            "expiry_date": f"{self.expiry.isoformat()}T06:00:00.000Z",
            "right": values.RIGHT_TO_WIRE[self.right],
            "strike_price": strike_text(self.strike or 0.0),
        }


def of_token(token: str) -> Name:
    """Return the name that one of our broker_tokens stands for; raise ValueError for any other text."""
    exchange, stock_code, *rest = token.split(":")
    if not rest:
        return Name(exchange, stock_code)
    expiry, *option = rest
    if not option:
        return Name(exchange, stock_code, date.fromisoformat(expiry))
    strike, right = option
    return Name(exchange, stock_code, date.fromisoformat(expiry), float(strike), right)


def of_row(row: Mapping[str, object]) -> Name:
    """Return the instrument of a row; raise `BadAnswer` for a row without exchange or stock code.

    A row of the cash market carries empty or zero derivative fields.
    """
    exchange = required(row, "exchange_code").strip().upper()
    return made(exchange, row, row.get("expiry_date"), row.get("strike_price"), row.get("right"))


def made(exchange: str, row: Mapping[str, object], expiry: object, strike: object, right: object) -> Name:
    """Return the instrument of an exchange that a row's stock code and the three fields name."""
    stock_code = required(row, "stock_code").strip().upper()
    if exchange in values.CASH_EXCHANGES:
        return Name(exchange, stock_code)
    day, amount, kind = values.day(expiry), values.strike(strike), values.right(right)
    if amount is None or kind is None:
        return Name(exchange, stock_code, day)
    return Name(exchange, stock_code, day, amount, kind)


def stream_of(listing: Listing) -> tuple[str, str]:
    """Return the room's exchange digits and token of a listing; two blanks for a listing without a room."""
    exchange, _, token = (listing.other_names or "").partition("!")
    return exchange, token
