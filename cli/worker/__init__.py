"""The embedding queue's other end: claim chunks, ask the model, store vectors."""
