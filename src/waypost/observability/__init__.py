"""Alerts and a dashboard for a cluster's DNS, as data, and what Prometheus and Grafana read of them."""
