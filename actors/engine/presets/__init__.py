"""The 53 order types that run as plans of their presets (order-engine 3), and what they share."""
