"""Settings, checked."""
