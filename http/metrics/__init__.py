"""What `GET /metrics` shows. The names are in `names.py`; the other modules read or count the figures. Only this room imports
prometheus_client."""
