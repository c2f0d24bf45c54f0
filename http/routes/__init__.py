"""The handlers, one module per area of the API; each exports its `ROUTES` for `http.table`."""
