"""Judged sets, runs, comparisons, tuning and calibration."""
