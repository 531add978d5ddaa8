"""One search: its plan, arms, fusion, refinement, page and explanation."""
