"""How long a test waits for what must come from another process or thread."""

PATIENCE_SECONDS = 120.0
"""Seconds, real ones. The machine may stop each process for seconds, more than once; a process that works comes sooner. This is an end
for tests that fail: no test that passes waits for it."""
