"""The frame that every instrument file is read into, and the rules of its columns."""
