"""Stub resolvers (RFC 9499) as they behave: how each reads resolv.conf, and what it asks, retries and gives up."""
