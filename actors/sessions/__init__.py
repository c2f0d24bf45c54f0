"""Broker sessions: the only actors that talk to brokers."""
