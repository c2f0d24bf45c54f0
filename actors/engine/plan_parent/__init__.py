"""The actor of one open plan."""
