"""Candles and ticks: the store, corporate-action adjustment, the candle cache, and the actor that owns writing."""
