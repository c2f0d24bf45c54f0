"""One module a type, named as the type; each holds its `PRESET`. A module put here is a type of the service (`registry.py`)."""
