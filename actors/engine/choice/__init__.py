"""Chooses the broker of one leg (order-engine 4): checks that refuse the order as a whole, the hard checks of each broker in order, its cost, then
the ranking."""
