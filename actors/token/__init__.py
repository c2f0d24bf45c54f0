"""The one access token."""
