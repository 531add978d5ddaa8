"""Ranked lists fused into one."""
