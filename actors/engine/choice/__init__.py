"""Choosing the broker of one leg: the hard checks in order, then the ranking (order-engine 4.1, 4.2)."""
