"""How requests name instruments, and what the answers say about instruments."""
