"""The stream of live data (`/stream`): quotes, order and parent events and documents over a WebSocket (docs/stream.md).

The current state is on boards (`boards.py`, `quote_board.py`), each piece encoded once for all clients. Feeds
(`board_writer.py`) write the boards from what actors publish. A client's stream (`client_stream.py`, `channels.py`) knows its
subscriptions and what is due for them. A message is made when the client can take one, so nothing queues. The endpoint
(`http/routes/stream_endpoint.py`) is the socket around the stream. `open_streams.py` keeps the streams of clients that lost
their connection.
"""
