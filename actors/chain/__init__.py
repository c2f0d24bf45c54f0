"""Option chains: the options of one underlying and expiry with quotes, implied volatilities, greeks and totals (docs/option-chain.md)."""
