"""The brokers' servers as the simulator plays them, one folder per broker."""
