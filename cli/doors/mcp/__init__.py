"""The Model Context Protocol: tools, resources and what they say."""
