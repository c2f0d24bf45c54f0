"""How bytes get to a broker and back: HTTP, WebSocket, and the budget of calls. Knows no broker."""
