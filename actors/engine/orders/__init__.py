"""Records of parents, parts and legs, their states, and which order of a broker's book is whose: the ground of the engine."""
