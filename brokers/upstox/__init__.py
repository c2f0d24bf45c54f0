"""Upstox: Developer API v2 and v3."""
