"""The pod's side of DNS: the resolv.conf that the kubelet writes, and the queries that stub resolvers send. Pure."""
