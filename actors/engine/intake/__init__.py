"""Turns a place body into an order that is ready to be sent, or into a plan."""
