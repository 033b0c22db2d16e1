"""DNS messages as bytes: names, queries, replies, rdata, EDNS. Pure."""
