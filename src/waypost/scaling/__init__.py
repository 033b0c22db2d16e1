"""Proportional autoscaling: how many replicas a cluster of a certain size needs. Pure."""
