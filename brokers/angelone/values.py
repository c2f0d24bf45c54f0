"""SmartAPI's words and numbers: words in both directions, the names of instruments, units per quantity, times.

Sources: SmartAPI documentation, orders and websocket order status, not re-read by us. SmartAPI's tokens are unique within an
exchange segment only, so the service knows an instrument as `NSE|2885`.
"""

import re
from collections.abc import Iterable, Mapping
from itertools import islice

from onebroker.brokers.codec.fields import readable_rows, text
from onebroker.brokers.codec.spelled_times import spelled_moment
from onebroker.brokers.codec.words import Words
from onebroker.brokers.records import Listing
from onebroker.config.vocabulary import OrderStatus, OrderType, Product, Side, Validity

STATUSES: Words[OrderStatus, str] = Words(
    "angelone",
    OrderStatus,
    read_only={
        "OPEN PENDING": OrderStatus.PENDING,
        "VALIDATION PENDING": OrderStatus.PENDING,
        "PUT ORDER REQ RECEIVED": OrderStatus.PENDING,
        "PENDING": OrderStatus.PENDING,
        "AFTER MARKET ORDER REQ RECEIVED": OrderStatus.PENDING,
        "MODIFY AFTER MARKET ORDER REQ RECEIVED": OrderStatus.PENDING,
        "TRIGGER PENDING": OrderStatus.PENDING,  # a stop that waits for its trigger is not yet working
        "OPEN": OrderStatus.OPEN,
        "MODIFIED": OrderStatus.OPEN,
        "MODIFY PENDING": OrderStatus.OPEN,
        "CANCEL PENDING": OrderStatus.OPEN,
        "PARTIALLY EXECUTED": OrderStatus.OPEN,
        "COMPLETE": OrderStatus.COMPLETE,
        "EXECUTED": OrderStatus.COMPLETE,
        "CANCELLED": OrderStatus.CANCELLED,
        "CANCELLED AFTER MARKET ORDER": OrderStatus.CANCELLED,
        "REJECTED": OrderStatus.REJECTED,
    },
    unsupported={OrderStatus.EXPIRED},
)
"""SmartAPI writes them in lower case. It has no word for EXPIRED: an order that the exchange lets lapse is shown as cancelled."""

STATUS_CODES: dict[str, OrderStatus] = {
    "AB01": OrderStatus.OPEN,
    "AB02": OrderStatus.CANCELLED,
    "AB03": OrderStatus.REJECTED,
    "AB04": OrderStatus.OPEN,  # modified
    "AB05": OrderStatus.COMPLETE,
    "AB06": OrderStatus.PENDING,  # after market order req received
    "AB07": OrderStatus.CANCELLED,  # cancelled after market order
    "AB08": OrderStatus.PENDING,  # modify after market order req received
    "AB09": OrderStatus.PENDING,  # open pending
    "AB10": OrderStatus.PENDING,  # trigger pending
    "AB11": OrderStatus.OPEN,  # modify pending
}
"""The order socket's codes, which come together with the word. AB00 is its greeting and names no order."""

SIDES = Words("angelone", Side, both={Side.BUY: "BUY", Side.SELL: "SELL"})

PRODUCTS = Words(
    "angelone",
    Product,
    both={Product.CNC: "DELIVERY", Product.MIS: "INTRADAY", Product.NRML: "CARRYFORWARD"},
    read_only={
        "MARGIN": Product.MTF,  # "Margin Delivery"
        "BO": Product.BO,
    },
    unsupported={Product.CO, Product.ARB},
)

ORDER_TYPES = Words(
    "angelone",
    OrderType,
    both={
        OrderType.MARKET: "MARKET",
        OrderType.LIMIT: "LIMIT",
        OrderType.SL: "STOPLOSS_LIMIT",
        OrderType.SL_M: "STOPLOSS_MARKET",
    },
)

VALIDITIES = Words(
    "angelone",
    Validity,
    both={Validity.DAY: "DAY", Validity.IOC: "IOC"},
    unsupported={Validity.GTT, Validity.GTC, Validity.GTD},
)

EXCHANGES = {
    "NSE": "nse", "NFO": "nse", "CDS": "nse", "NCO": "nse",
    "BSE": "bse", "BFO": "bse",
    "MCX": "mcx",
    "NCDEX": "ncdex",
}  # fmt: skip
"""SmartAPI's exchange segment -> our exchange."""
LONG_EXCHANGES = {
    "NSE_CM": "NSE", "NSE_FO": "NFO", "CDE_FO": "CDS", "BSE_CM": "BSE", "BSE_FO": "BFO", "MCX_FO": "MCX",
    "NCX_FO": "NCDEX",
}  # fmt: skip
"""Older spelling (documents' sample of the instrument file, profiles) -> today's spelling."""

STREAM_TYPES = {"NSE": 1, "NFO": 2, "BSE": 3, "BFO": 4, "MCX": 5, "NCDEX": 7, "CDS": 13}
"""Exchange segment -> exchangeType of the market socket; the socket has no type for NCO."""
STREAM_EXCHANGES = {kind: exchange for exchange, kind in STREAM_TYPES.items()}

CASH_EXCHANGES = frozenset({"NSE", "BSE"})
LOT_EXCHANGES = frozenset({"CDS", "MCX", "NCDEX", "NCO"})
"""On these exchanges quantities are lots; elsewhere they are units. NCDEX and NCO are assumed to be like CDS, unchecked.
No source settles whether MCX's are lots or the exchange's trading units (a hundred barrels as 1 or as 100): projects
contradict each other (`UNSETTLED`)."""
UNSETTLED = frozenset({"MCX"})
"""On these exchanges a quantity is known only where a lot is one trading unit, because both readings are then the same.
No order is sent."""
CURRENCY_UNITS = 1000
"""Units of the base currency in one contract of NSE (of JPYINR 100,000 yen, quoted per 100): general knowledge, unchecked. The
file says 1."""

CURRENCY_KINDS = frozenset({"FUTCUR", "OPTCUR"})
"""instrumenttype of the contracts with that size."""

MOST_WALKED = 12_000
"""Most listings searched for rows without a token: all of NSE's cash market, under a second."""

_INDEX_TOKEN = re.compile(r"^999\d{5}$")


def broker_token(exchange: str, token: str) -> str:
    """Return the name of an instrument within this broker: `NSE|2885`."""
    return f"{exchange}|{token}"


def symbol_token(name: str) -> str:
    """Return SmartAPI's own token of an instrument: 2885 of `NSE|2885`."""
    return name.partition("|")[2]


def is_index(name: str) -> bool:
    """Tell whether a token is an index's (99926000): NSE's and BSE's own numbers end far below. General knowledge, unchecked."""
    return _INDEX_TOKEN.match(symbol_token(name)) is not None


def find_names(rows: Iterable[Mapping[str, object]], listings: Mapping[str, Listing]) -> dict[tuple[str, str], str]:
    """Return (exchange, tradingsymbol) -> name for rows that do not give their token, as far as the symbols are listed.

    Such rows are rare (the documents' oldest samples). One search through the exchanges' listings then serves all rows
    together. Its length is limited: reading every contract of a large catalogue would block everything else.
    """
    wanted = {
        (str(row.get("exchange")), str(row.get("tradingsymbol")))
        for row in readable_rows(rows)
        if text(row.get("symboltoken")) is None
    }
    found: dict[tuple[str, str], str] = {}
    exchanges = {exchange for exchange, _ in wanted}
    here = (name for name in listings if name.partition("|")[0] in exchanges) if wanted else iter(())
    for name in islice(here, MOST_WALKED):
        pair = (name.partition("|")[0], listings[name].tradingsymbol)
        if pair in wanted:
            found[pair] = name
            if len(found) == len(wanted):
                break
    return found


def name_of(row: Mapping[str, object], exchange: str, symbol: str, found: Mapping[tuple[str, str], str]) -> str:
    """Return the name of a row's instrument; a symbol that is not in `found` replaces the token, and names no instrument."""
    token = text(row.get("symboltoken"))
    if token is None:
        return found.get((exchange, symbol)) or broker_token(exchange, symbol)
    return broker_token(exchange, token)


def contract_units(name: str, listings: Mapping[str, Listing]) -> int | None:
    """Return the units in one of SmartAPI's quantities; None when it counts in lots of unknown size."""
    exchange = name.partition("|")[0]
    if exchange not in LOT_EXCHANGES:
        return 1
    listing = listings.get(name)
    # A size that the file does not settle was taken from other brokers; it is not the unit of a quantity here.
    if listing is None or (exchange in UNSETTLED and listing.lot_size != listing.contract_units):
        return None
    return listing.contract_units


def iso_time(value: object) -> str | None:
    """Return an Indian time such as `20-Oct-2020 13:10:59` as ISO 8601 with the Indian offset; None when there is none."""
    read = spelled_moment(value)
    return None if read is None else read.isoformat()


def epoch(value: object) -> float | None:
    """Return such a time as epoch seconds; None when there is none."""
    read = spelled_moment(value)
    return None if read is None else read.timestamp()
