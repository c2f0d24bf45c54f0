"""The handlers, one module for each area of the API; each exports its `ROUTES` for `http.route_table`."""
