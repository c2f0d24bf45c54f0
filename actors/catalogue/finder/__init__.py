"""Finds instruments by words, over all exchanges, segments and expiries: `GET /api/instruments/find`."""
