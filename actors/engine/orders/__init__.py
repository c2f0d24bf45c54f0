"""Records of parents, parts and legs, their states, and the owner of each order in a broker's book. The rest of the engine builds on this."""
