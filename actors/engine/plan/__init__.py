"""The plan: what one parent wants done, as a tree of parts, and the rules that work it (order-engine 1 and 2). Pure."""
