"""What trading costs: statutory charges of each exchange, brokerage of each broker, with sources and dates (order-engine 4.2)."""
