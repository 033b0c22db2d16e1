"""forward: send queries to upstream resolvers."""
