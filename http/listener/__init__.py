"""The listener: connections, their bounds, HTTP/1.1, WebSockets."""
