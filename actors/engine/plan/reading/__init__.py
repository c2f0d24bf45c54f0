"""Reading a plan: JSON of a `synthetic` object into the checked values of the grammar (order-engine 1.10)."""
