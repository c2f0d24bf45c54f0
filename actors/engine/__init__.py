"""The order engine: intake, one actor per open parent, reconciliation, and the desk."""
