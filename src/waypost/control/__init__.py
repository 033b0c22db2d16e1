"""Build, start, reload and stop a configuration."""
