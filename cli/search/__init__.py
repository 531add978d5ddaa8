"""Searches of the command line: the call, its models, its output, explanations."""
