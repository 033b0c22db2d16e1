"""Sockets: where queries come in and replies go out."""
