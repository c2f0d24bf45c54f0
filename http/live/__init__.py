"""The stream of live data (`/stream`): quotes, order and parent events, documents and option chains over a WebSocket (docs/stream.md).

The current state is on boards (`boards.py`, `quote_board.py`, `chain_board.py`), each piece encoded once for all clients. Feeds
(`board_writer.py`, `chain_feed.py`) write the boards from what actors publish. A client's stream (`client_stream.py`, `channels.py`,
`chain_channel.py`) knows its subscriptions and what is due for them. A message is made when the client can take one, so nothing queues.
The endpoint (`http/routes/stream_endpoint.py`) is the socket around the stream. `open_streams.py` keeps the streams of clients that
lost their connection.
"""
