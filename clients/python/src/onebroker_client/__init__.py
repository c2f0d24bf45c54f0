"""A Python client of onebroker: ten Indian broker accounts as one account."""
