"""A soak: minutes of reading, writing and breaking, answers held against a record of what is there.

`python -m soak` in tests/, or `make soak`: see soak/__main__.py.
"""
