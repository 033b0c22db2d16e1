"""Older configurations to today's: Corefiles written for earlier releases of CoreDNS, ConfigMaps of kube-dns. Pure."""
