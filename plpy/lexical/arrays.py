"""Kinds of arrays. (Importing numpy.typing would cost a session 25 ms.)"""

import numpy as np

Integers = np.ndarray[tuple[int, ...], np.dtype[np.integer]]
Floats = np.ndarray[tuple[int, ...], np.dtype[np.floating]]
Mask = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
Pair = tuple[Integers, Integers]  # rows and codes of one term's postings
