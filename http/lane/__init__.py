"""The fast lane: answers of hot GET requests straight from bytes to bytes, beside the application, equal to its answers byte for byte."""
