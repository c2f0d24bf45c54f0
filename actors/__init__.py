"""Everything that owns state and runs. Imports config and brokers."""
