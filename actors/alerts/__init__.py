"""Messages to people: which events make one, when it goes out, and the outbox that keeps it until every receiver has taken it."""
