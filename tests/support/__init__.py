"""Servers and fixtures that tests of several folders share."""
