"""A model of the whole: drawn days on which callers, a person at the broker's app, brokers, markets and crashes act together.

    python -m bench.model --minutes 60 --seed 7
    python -m bench.model --planted --seed 1 --days 40
    python -m bench.model --story story.json

A day is a `Story` (`story.py`): plain data, drawn from a seed. `acting.py` plays it in one process on a mocked clock: the simulator, the sessions, the
engine and its store. Nothing here knows how the engine works. `watching.py` and `judging.py` compare what the API shows with the exchange's own ledger,
by rules taken from the specification and from docs/design/order-engine.md. `planted.py` has faults to put into the engine, which the model must find.
"""
