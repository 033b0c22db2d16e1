"""One module or folder a directive; none imports another."""
