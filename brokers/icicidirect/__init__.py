"""ICICI Direct: Breeze API v1, its historical v2, and Socket.IO streams."""
