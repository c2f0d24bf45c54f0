"""How the execution kinds cut a quantity into pieces: pure functions (order-engine 1.5)."""
