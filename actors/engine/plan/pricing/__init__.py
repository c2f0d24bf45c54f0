"""The prices of the pricing kinds: pure functions of the quote, the clock and the rule's memory (order-engine 1.4)."""
