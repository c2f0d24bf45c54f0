"""An example of an option chain, for its route and for the stream. The types are in `actors/chain/documents.py`."""

_CALL = {
    "instrument_id": "0a47ee42-8bd0-5d70-a9d6-4dd2e4c2c9f1", "last_price": 412.5, "bid": 412.2, "ask": 412.8,
    "volume": 1_845_300, "oi": 2_210_475, "oi_change": 120_450, "priced_by": "mid", "implied_volatility": 0.128401,
    "delta": 0.519334, "gamma": 0.000389284, "theta": -7.018273, "vega": 31.822171, "rho": -0.373442, "source": "quote",
    "received_at": 1_795_500_000.2, "age_seconds": 0.4, "missing": {},
}  # fmt: skip
_PUT = {
    **dict.fromkeys(_CALL),
    "instrument_id": "5f1b8f2e-57b2-5a43-9d8a-98b8a2bd3c11",
    "missing": {"quote": "no quote has come yet; the brokers' feeds were asked for it"},
}
ROWS = [{"strike_price": 26_050.0, "ce": _CALL, "pe": _PUT}]
EXAMPLE = {
    "mapping_date": "2026-11-24", "exchange": "nse", "segment": "nse_equity_index_options", "underlying_symbol": "NIFTY",
    "expiry_date": "2026-12-29", "strikes_listed": 106, "as_of": 1_795_500_000.6, "market_open": True,
    "expires_at": 1_798_538_400.0, "days_to_expiry": 35.166662, "rate": 0.0,
    "forward": {
        "price": 26_050.0, "source": "future", "instrument_id": "9c1f6a55-8f4e-5b8e-8d0e-3b5c7c9b7e01", "reason": None
    },
    "totals": {
        "pcr_oi": None, "pcr_volume": None, "max_pain": None, "strikes_with_oi": 0, "strikes_with_volume": 0,
        "atm_strike": 26_050.0, "straddle_price": None,
        "missing": {
            "pcr_oi": "no strike has both figures", "pcr_volume": "no strike has both figures",
            "max_pain": "no strike has both figures",
            "straddle_price": "the call or the put of the strike at the money has no price",
        },
    },
    "rows": ROWS,
}  # fmt: skip
