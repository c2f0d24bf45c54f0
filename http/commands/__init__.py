"""The commands, one module each. They compose the process; no other folder of `http` reaches the registry and the simulator."""
