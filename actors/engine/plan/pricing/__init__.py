"""What the pricing kinds come to: pure functions of the quote, the clock and what the rule remembers (order-engine 1.4)."""
