"""Helpers of development; no part of what is installed."""
