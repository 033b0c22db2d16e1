"""Counting a stream in constant memory, each with the bound of its error."""
