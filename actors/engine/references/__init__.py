"""Price and quantity references: numbers that the engine works out just before it builds the order (rules 2.6)."""
