"""Words of the product that parsers offer as choices or defaults. A test holds each of them against the product's own."""

from pathlib import Path

_BROKERS_FOLDER = Path(__file__).resolve().parents[3] / "brokers"
BROKERS = tuple(sorted(broker.parent.name for broker in _BROKERS_FOLDER.glob("*/broker.py")))
"""Codes of all brokers. Each has a folder of its code; importing them would take a second."""
EXCHANGES = ("nse", "bse", "mcx", "ncdex")
INTERVALS = (
    "day",
    *(f"{minutes}minute" for minutes in (1, 2, 3, 4, 5, 10, 15, 20, 25, 30, 45, 60, 120, 180, 240)),
)
COLLECTIONS = ("users", "brokers", "exchanges")
HALT_MODES = ("reduce_only", "nothing")
FLATTEN_WORD = "FLATTEN"
LOG_FORMATS = ("text", "json")
DEMO_KEY = "demo-key"
DEMO_SECRET = "demo-secret"
SIMULATED_INSTRUMENTS = 2000
SIMULATOR_SEED = 1
FILE_OPTIONS = (
    "instrument_id",
    "exchange",
    "segment",
    "symbol",
    "underlying_symbol",
    "expiry_date",
    "strike_price",
    "option_type",
    "interval",
)
"""What options of `history load` say of all rows of a file."""
CHART_OPTIONS = {
    "instrument_id": "the instrument's UUID; it is used alone (default: the instrument that the other options name)",
    "exchange": f"one of {', '.join(EXCHANGES)} (default: none)",
    "segment": "segment of the exchange, with or without its prefix (default: none)",
    "symbol": "symbol of a security (default: none)",
    "underlying_symbol": "of a future or an option (default: none)",
    "expiry_date": "of a future or an option (default: none)",
    "strike_price": "of an option, in rupees (default: none)",
    "option_type": "of an option: CE or PE (default: none)",
    "interval": f"one of {', '.join(INTERVALS)}",
    "from": "first India calendar day; together with --to (default: none)",
    "to": "last India calendar day, included (default: none)",
    "days": "in place of --from and --to: today back so many days, both ends included (default: none)",
    "adjusted": "whether prices are adjusted for corporate actions, true or false (default: true)",
    "known_as_of": "only factors with an ex-date on or before this day apply (default: all factors)",
}
"""The parameters of `GET /api/instruments/prices`, with their help in `history plot`."""
