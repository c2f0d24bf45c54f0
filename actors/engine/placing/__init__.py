"""The road of an order message to a broker: request, room, written ahead, sent."""
