"""`onebroker backup` and `onebroker restore`: a data directory in one file, and a data directory from that file."""
