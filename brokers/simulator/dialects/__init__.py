"""The brokers' servers as the simulator speaks them, one folder a broker."""
