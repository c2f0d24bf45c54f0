"""Fyers' API v3: its words, its wire formats, what it can do."""
