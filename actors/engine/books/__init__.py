"""What brokers show: fresh reads of books and positions, and accepted orders of ours that no book shows yet."""
