"""The page at /: a search that one can watch, in a browser that opened a link."""
