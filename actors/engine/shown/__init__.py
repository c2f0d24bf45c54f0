"""Parents and plans as callers see them."""
