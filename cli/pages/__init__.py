"""What all pages have in common: their style, and how texts get into them."""
