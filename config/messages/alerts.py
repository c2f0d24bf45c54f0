"""Sentences about the messages to people."""

NO_RECEIVER = "alerts.to names no receiver: docs/alerts.md says how to write them"
"""409, and of `onebroker alerts test`."""
