"""The brokers' display names, as an imported broker document gives them, and the codes they stand for (rules 1.4.3,
architecture 11). Fixed; a broker that is none of the ten brings its own name along in the registry.
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
    """Return display name -> code for every broker there can be: the ten, and what else the registry holds."""
    return {**{broker.name: code for code, broker in registry.items()}, **CODES_BY_DISPLAY_NAME}
