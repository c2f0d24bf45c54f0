"""An exchange, ten accounts and ten dialect servers: paper trading, the demo, and the test bed. Never imported by actors/.

`exchange.Exchange` is the whole market in one synchronous object. `Exchange.account(code)` is the `AccountView` that a dialect gets, and
`Exchange.tokens(code)` its `TokenStore`. `simulation.Simulator` adds dialects, faults and limits. `host` serves them on ports, `inprocess` hands
requests straight to them, and `run` is the complete process.
"""
