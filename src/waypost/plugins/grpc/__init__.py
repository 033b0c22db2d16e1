"""grpc: send queries to upstreams that speak DNS over gRPC."""

from waypost.plugins.grpc.config import parse as parse
from waypost.plugins.grpc.setup import setup as setup
