"""The proportional autoscaler: follows nodes and parameters, and sets the scale of its targets."""
