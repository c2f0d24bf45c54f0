"""What is fixed before the process starts, and what every part needs and no part owns. Imports nothing else of onebroker."""
