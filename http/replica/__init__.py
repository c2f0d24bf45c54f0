"""The replica: a process that is fed by the stream of the service, and serves its documents, quotes and stream to many readers.

It places nothing, keeps nothing on disk, and has no key of a broker (docs/operations/replica.md).
"""
