"""Angel One SmartAPI, as codecs without I/O."""
