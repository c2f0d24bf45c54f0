"""The parsers of the commands: options, help and examples. They import nothing of the product, so help and completion are fast.

A command's parser names the function that runs it (`runs="check:run"`); `onebroker.http.__main__` imports that module only when it runs.
"""
