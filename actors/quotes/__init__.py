"""The quote book: newest tick per instrument and broker, one unified quote per instrument."""
