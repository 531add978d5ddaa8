"""A coordinator's store: passages are on shards, which answer for what they hold."""
