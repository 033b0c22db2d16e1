"""What `waypost node-cache` does beside serving: addresses, rules and Corefile of a node, a watch over its server."""
