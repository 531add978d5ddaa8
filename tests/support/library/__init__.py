"""An application of Django whose articles are searched."""
