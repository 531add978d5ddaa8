"""The program of the backend: rooms of pure Python, standard library and numpy."""
