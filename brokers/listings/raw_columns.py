"""The name of a column that holds a broker's own column."""

RAW_PREFIX = "raw."
