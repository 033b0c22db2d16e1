"""The small HTTP server behind health, ready and metrics."""
