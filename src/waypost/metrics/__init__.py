"""Metric cells, names and exposition."""
