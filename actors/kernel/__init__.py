"""The actor kernel: mailboxes, asking, published state, supervision. Knows no broker, no store, no route."""
