"""The state machine of a plan: one look takes tree, records, legs and market, and returns what to do now (order-engine 2). Pure.

Between two looks only the parts' records and the legs are kept. So a look after a restart is like any other look.
"""
