"""Corefile text to server blocks. Pure."""
