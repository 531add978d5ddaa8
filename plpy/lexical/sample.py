"""A sample of chunks: those whose hashes are least."""

from collections.abc import Sequence

import numpy as np

from pgblend.plpy.base.ports import Sample

Ids = np.ndarray[tuple[int, ...], np.dtype[np.int64]]
Hashes = np.ndarray[tuple[int, ...], np.dtype[np.uint64]]
_LARGEST = (1 << 64) - 1
_STEPS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))  # splitmix64


def sampled(lists: Sequence[Ids], most: int) -> tuple[list[Ids], int]:
    """Return the `most` ids of all lists whose hashes are least, by list, and the last hash.

    Where there are no more ids, all are returned, with the largest hash that there can be.

    The same ids give the same sample, in which none is likelier than another.
    """
    hashes = list(map(hashed, lists))
    together = np.concatenate(hashes)
    if len(together) <= most:
        return list(lists), _LARGEST
    last = np.partition(together, most - 1)[most - 1]
    return [ids[of_ids <= last] for ids, of_ids in zip(lists, hashes, strict=True)], int(last)


def merged_samples(samples: Sequence[Sample]) -> Sample:
    """Return the samples of disjoint sets as one, of the chunks that each would have taken.

    How many were looked at follows from the last hash, since hashes are spread evenly.
    """
    last = min((sample.last for sample in samples), default=_LARGEST)
    total = sum(sample.total for sample in samples)
    ids = np.array([one for sample in samples for one in sample.chunk_ids], np.int64)
    looked_at = max(round(total * (last / _LARGEST)), 1)
    return Sample(total, looked_at, ids[hashed(ids) <= np.uint64(last)].tolist(), last)


def hashed(ids: Ids) -> Hashes:
    """Return numbers of 64 bits that say nothing of the ids' order (Steele et al. 2014)."""
    mixed = ids.astype(np.uint64)
    for shift, factor in _STEPS:
        mixed ^= mixed >> np.uint64(shift)
        mixed *= np.uint64(factor)
    return mixed
