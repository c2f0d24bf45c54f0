"""The audit: every event as a line of a file that is only ever appended to, each line tied to the line before by a hash (docs/audit.md)."""
