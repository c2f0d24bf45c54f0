"""The documents that describe the API to programs: OpenAPI for the routes, AsyncAPI for the stream. Made from the route table and from the types
of answers (`http/answers/`)."""
