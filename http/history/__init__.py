"""Queries and answers of the history routes."""
