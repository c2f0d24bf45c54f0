"""Bodies of the order routes."""
