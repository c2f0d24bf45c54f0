"""One module per type, named like the type; each holds its `PRESET`. A module added here becomes a type of the service (`registry.py`)."""
