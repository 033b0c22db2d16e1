"""Collects what `waypost.diagnosis` judges: objects and logs, files of a node, answers of resolvers."""
