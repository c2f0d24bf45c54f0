"""A place body becomes an order that is ready to be sent, or a plan."""
