"""Query logs to a report: reading lines, counting in constant memory, findings, renderings. Pure."""
