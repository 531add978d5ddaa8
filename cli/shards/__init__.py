"""Shards of a coordinator, as its admin's commands see them."""
