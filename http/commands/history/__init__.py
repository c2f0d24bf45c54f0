"""onebroker history and onebroker factors."""
