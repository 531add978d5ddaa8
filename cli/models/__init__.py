"""The model gateway: embeddings, chat, expansion and reranking behind one address."""
