"""Groww: Trade API v1."""
