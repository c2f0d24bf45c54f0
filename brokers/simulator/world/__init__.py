"""What the exchange trades: instruments, prices of today and of the past."""
