"""onebroker demo."""
