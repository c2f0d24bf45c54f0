"""Shoonya's OAuth generation of the Noren API: its words, its wire formats, what it can do."""
