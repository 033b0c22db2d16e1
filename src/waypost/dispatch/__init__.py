"""From a packet's bytes to a plugin chain and back."""
