"""The plan: a tree of parts that says what one parent shall do, and the rules that work the tree (order-engine 1 and 2). Pure."""
