"""Search for agents: tools and resources of the Model Context Protocol over the same functions."""
