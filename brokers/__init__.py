"""Everything a broker says or hears. I/O only in transport/ and simulator/. Imports config only."""
