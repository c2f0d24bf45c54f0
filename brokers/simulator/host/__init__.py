"""The simulator's processes and servers."""
