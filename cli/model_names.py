"""The embedding models that come in packages, by the names that a space has."""

DEFAULT_MODEL = "local/all-minilm-l6-v2"
MULTILINGUAL_MODEL = "local/multilingual-e5-small"
