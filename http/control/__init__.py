"""The data directory's control socket: commands to a running service."""
