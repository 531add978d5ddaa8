"""Judged sets in, metrics, comparisons, reports and tuned profiles out."""
