"""Zerodha's Kite Connect 3: its words, its wire formats, what it can do."""
