"""Calls of models through the gateway."""
