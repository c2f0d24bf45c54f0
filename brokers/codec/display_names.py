"""The brokers' display names, as an imported broker document gives them, and their broker codes (rules 1.4.3,
architecture 11). The table is fixed; a broker that is not one of the ten brings its own name in the registry.
"""

from onebroker.brokers.broker import Registry

CODES_BY_DISPLAY_NAME: dict[str, str] = {
    "Zerodha": "zerodha",
    "Upstox": "upstox",
    "Dhan": "dhan",
    "Angel One": "angelone",
    "Fyers": "fyers",
    "Kotak Neo": "kotakneo",
    "ICICI Direct": "icicidirect",
    "5paisa": "fivepaisa",
    "Groww": "groww",
    "Shoonya by Finvasia": "shoonya",
}
"""Display name -> broker code."""


def display_names(registry: Registry) -> dict[str, str]:
    """Return display name -> code for every possible broker: the ten, and any others in the registry."""
    return {**{broker.name: code for code, broker in registry.items()}, **CODES_BY_DISPLAY_NAME}
