"""The path of an order message to a broker: request, room, write-ahead, send."""
