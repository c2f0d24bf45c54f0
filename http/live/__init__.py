"""The stream of live data (`/stream`): quotes, order and parent events and documents over a WebSocket (docs/stream.md).

What is true stands on boards (`boards.py`, `quote_board.py`), each piece encoded once for all clients; feeds (`feeds.py`)
write them from what actors publish. A client's stream (`client_stream.py`, `channels.py`) knows what it subscribed to and
what of it is due; a message is made when the client can take one, so nothing queues. The endpoint (`http/routes/stream_endpoint.py`) is the
socket around that; `registry.py` keeps the streams of clients that lost theirs.
"""
