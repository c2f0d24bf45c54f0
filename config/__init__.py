"""What is fixed before the process starts, and what everything needs and nobody owns. Imports nothing of ours."""
