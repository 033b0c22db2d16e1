"""Record sets as Route 53 lists them, and botocore's own client with its answers scripted."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from botocore.stub import Stubber

from waypost.plugins.route53.config import Account
from waypost.plugins.route53.source import connect_to_aws

KEYS = Account(keys=("AKID", "secret"))


def record_set(name: str, rtype: str, *values: str, ttl: int = 300) -> dict[str, Any]:
    return {"Name": name, "Type": rtype, "TTL": ttl, "ResourceRecords": [{"Value": value} for value in values]}


def alias(name: str, rtype: str, target: str) -> dict[str, Any]:
    where = {"HostedZoneId": "Z2FDTNDATAQYW2", "DNSName": target, "EvaluateTargetHealth": False}
    return {"Name": name, "Type": rtype, "AliasTarget": where}


def head(origin: str = "example.org.", serial: int = 1) -> list[dict[str, Any]]:
    """What every hosted zone has."""
    soa = f"ns.example.net. admin.example.net. {serial} 7200 900 1209600 86400"
    return [record_set(origin, "NS", "ns.example.net.", ttl=172800), record_set(origin, "SOA", soa, ttl=900)]


@cache
def aws_client() -> Any:
    """One for all: making it takes long."""
    return connect_to_aws(KEYS)


class Aws:
    """Route 53 as far as a client sees it: answers, and what they must be asked by."""

    def __init__(self) -> None:
        self.client = aws_client()
        self._stub = Stubber(self.client)
        self._stub.activate()

    def page(self, hosted_id: str, sets: Iterable[Any], *, start: str = "", following: str = "") -> None:
        """The next answer: a page of a hosted zone."""
        expected = {"HostedZoneId": hosted_id, "MaxItems": "1000"}
        if start:
            expected |= {"StartRecordName": start, "StartRecordType": "A"}
        answer = {"ResourceRecordSets": list(sets), "IsTruncated": bool(following), "MaxItems": "1000"}
        if following:
            answer |= {"NextRecordName": following, "NextRecordType": "A"}
        self._stub.add_response("list_resource_record_sets", answer, expected)

    def refuse(self, code: str, text: str) -> None:
        """The next answer: an error."""
        self._stub.add_client_error("list_resource_record_sets", code, text)

    def end(self) -> None:
        """Every answer must have been given."""
        self._stub.deactivate()
        self._stub.assert_no_pending_responses()
