"""Where others already work: retrievers and stores of frameworks, types of drivers and ORMs.

Imported as `pgblend.integrations.…`; each module but `client` and `filters` needs the extra of its
name.
"""
