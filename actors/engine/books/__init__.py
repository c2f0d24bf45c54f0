"""What brokers show: books and positions read anew, and orders of ours that no book shows yet."""
