"""Totals of a chain: put-call ratios, max pain, the straddle at the money. Pure."""

from collections.abc import Mapping, Sequence

from onebroker.actors.chain.documents import Row, Totals

NO_FORWARD = "the forward is not known"
NO_PRICES = "the call or the put of the strike at the money has no price"
NO_FIGURES = "no strike has both figures"
NO_CALLS = "the calls have none"
RATIO_PLACES = 4
PRICE_PLACES = 4


def totals(rows: Sequence[Row], forward: float | None, prices: Mapping[str, float]) -> Totals:
    """Return the totals; `prices` holds instrument_id -> the price that the volatility is made from."""
    missing: dict[str, str] = {}
    interest = _both(rows, "oi")
    volumes = _both(rows, "volume")
    atm = None if forward is None else min((row.strike_price for row in rows), key=lambda strike: abs(strike - forward))
    straddle = _straddle(rows, atm, prices)
    if atm is None:
        missing["atm_strike"] = missing["straddle_price"] = NO_FORWARD
    elif straddle is None:
        missing["straddle_price"] = NO_PRICES
    pain = max_pain(interest)
    if pain is None:
        missing["max_pain"] = NO_FIGURES
    return Totals(
        pcr_oi=_ratio(interest, "pcr_oi", missing),
        pcr_volume=_ratio(volumes, "pcr_volume", missing),
        max_pain=pain,
        strikes_with_oi=len(interest),
        strikes_with_volume=len(volumes),
        atm_strike=atm,
        straddle_price=straddle,
        missing=missing,
    )


def max_pain(interest: Mapping[float, tuple[int, int]]) -> float | None:
    """Return the strike at which the open options (strike, rising -> units of calls and puts) are worth the least; of several the lowest."""
    strikes = list(interest)
    if not any(sum(units) for units in interest.values()):
        return None
    # Worth of all options at the lowest strike; each step upwards changes it by the units on either side.
    worth = sum(put * (strike - strikes[0]) for strike, (_, put) in interest.items())
    calls, puts = 0, sum(put for _, put in interest.values())
    best, least = strikes[0], worth
    for place, strike in enumerate(strikes[:-1]):
        calls += interest[strike][0]
        puts -= interest[strike][1]
        worth += (calls - puts) * (strikes[place + 1] - strike)
        if worth < least:
            best, least = strikes[place + 1], worth
    return best


def _both(rows: Sequence[Row], field: str) -> dict[float, tuple[int, int]]:
    """Return strike -> figure of call and put, where both are known."""
    found = {}
    for row in rows:
        call, put = getattr(row.ce, field, None), getattr(row.pe, field, None)
        if call is not None and put is not None:
            found[row.strike_price] = (call, put)
    return found


def _ratio(figures: Mapping[float, tuple[int, int]], name: str, missing: dict[str, str]) -> float | None:
    calls = sum(call for call, _ in figures.values())
    if not figures or not calls:
        missing[name] = NO_CALLS if figures else NO_FIGURES
        return None
    return round(sum(put for _, put in figures.values()) / calls, RATIO_PLACES)


def _straddle(rows: Sequence[Row], atm: float | None, prices: Mapping[str, float]) -> float | None:
    row = next((row for row in rows if row.strike_price == atm), None)
    if row is None or row.ce is None or row.pe is None:
        return None
    call, put = prices.get(row.ce.instrument_id), prices.get(row.pe.instrument_id)
    return None if call is None or put is None else round(call + put, PRICE_PLACES)
