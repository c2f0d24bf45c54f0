"""Choosing the broker of one leg: what refuses the order as a whole, the hard checks of each broker in order, the cost of each, then
the ranking (order-engine 4)."""
