"""An exchange, ten accounts and ten dialect servers: paper trading, the demo, and the test bed. Never imported by actors/."""
