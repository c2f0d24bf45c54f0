"""Everything that outlives the process: Redis behind the store actor (and its twin in memory), SQLite for documents, the lock."""
