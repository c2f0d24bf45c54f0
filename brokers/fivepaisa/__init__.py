"""5paisa's Open API (Xstream): its words, its wire formats, what it can do."""
