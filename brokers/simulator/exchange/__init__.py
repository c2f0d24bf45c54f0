"""The simulated exchange: books, matching, accounts, risk, its journal and ledger."""
