"""The actor of one open order, and the changes, cancels and look-ups of its legs."""
