"""The existing dialects: broker code -> builder of its server. A new broker's dialect is one line here."""

from collections.abc import Iterable, Mapping

from onebroker.brokers.simulator.dialects import (
    angelone,
    dhan,
    fivepaisa,
    fyers,
    groww,
    icicidirect,
    kotakneo,
    shoonya,
    upstox,
    zerodha,
)
from onebroker.brokers.simulator.dialects.dialect import DialectFactory

DIALECTS: Mapping[str, DialectFactory] = {
    "zerodha": zerodha.build,
    "upstox": upstox.build,
    "dhan": dhan.build,
    "angelone": angelone.build,
    "fyers": fyers.build,
    "kotakneo": kotakneo.build,
    "groww": groww.build,
    "icicidirect": icicidirect.build,
    "fivepaisa": fivepaisa.build,
    "shoonya": shoonya.build,
}


def chosen_dialects(codes: Iterable[str] | None) -> dict[str, DialectFactory]:
    """Return the dialects of the given codes, or all for None. Raise ValueError naming a code that has no dialect."""
    if codes is None:
        return dict(DIALECTS)
    wanted = list(codes)
    if unknown := [code for code in wanted if code not in DIALECTS]:
        raise ValueError(f"no simulated broker is called {unknown[0]}; there are {', '.join(DIALECTS)}")
    return {code: DIALECTS[code] for code in wanted}
