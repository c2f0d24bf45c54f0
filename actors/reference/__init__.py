"""The reference documents: users, brokers, exchanges, and the brokers' own profiles."""
