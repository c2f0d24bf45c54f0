"""The commands: one module each. They compose the process, and alone reach the registry and the simulator."""
