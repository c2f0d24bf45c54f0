"""The screen: a page at `/` with its scripts, styles and vendored library. The page is a client of the API like any other."""
