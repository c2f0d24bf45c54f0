"""Documents: funds, holdings, positions, order book, trade book; one actor each, one shared loop."""
