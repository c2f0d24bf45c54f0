"""The columns of a catalogue file that describe an instrument. The build writes them, and the service reads them."""

INSTRUMENT_COLUMNS = (
    "instrument_id", "exchange", "segment", "shape", "symbol", "underlying_symbol", "expiry_date", "strike_price",
    "option_type", "name", "isin", "lot_size", "tick_size", "freeze_quantity",
)  # fmt: skip
ATTRIBUTE_NAMES = "attribute_names"
"""Column whose first cell holds the names of the values in the listings' `attributes` (`attributes.names_text`)."""
