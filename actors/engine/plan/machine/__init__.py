"""The state machine of a plan: one look makes of tree, records, legs and market what is to be done now (order-engine 2). Pure.

Nothing is remembered between two looks but the parts' records and the legs, so a look after a restart is a look like any other.
"""
