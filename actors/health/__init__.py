"""What is wrong with the service now: each problem, since when, and what to do."""
