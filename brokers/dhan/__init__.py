"""Dhan: DhanHQ v2."""
