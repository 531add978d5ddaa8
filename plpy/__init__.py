"""Bodies of PL/Python functions: pure Python, one function a module, standard library and numpy."""
