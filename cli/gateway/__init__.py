"""The model gateway: one small HTTP process that holds litellm, the keys and the local model."""
