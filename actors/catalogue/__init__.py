"""The single instrument list: built from the brokers' files, published as an immutable snapshot."""
