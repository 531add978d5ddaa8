"""The graph on the command line: links read from files, neighbourhoods and their pictures."""
