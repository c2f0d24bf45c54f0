"""How requests name instruments, and how instruments are answered."""
