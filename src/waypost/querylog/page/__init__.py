"""A report as one HTML page that needs nothing else: no script, no font, no image from anywhere."""
