"""`/docs`: the OpenAPI document as a page for people, without scripts."""
