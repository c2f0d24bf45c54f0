"""Reading a plan: from the JSON of a `synthetic` object to the checked values of the grammar (order-engine 1.10)."""
