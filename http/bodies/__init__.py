"""Long request and answer bodies."""
