"""Kotak Neo (Kotak Securities' Neo Trade API v2): codecs without I/O and tables."""
