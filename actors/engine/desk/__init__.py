"""The desk: changes and cancels of orders, parents and parts, and flatten. It works without the engine's lock (order-engine 5.1)."""
