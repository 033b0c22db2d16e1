import pytest

from support.chain import make_directive
from waypost.corefile.errors import CorefileError
from waypost.corefile.networks import Networks
from waypost.plugins.acl.config import Action, parse
from waypost.wire import addr, consts


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("foo net *", "unexpected token \"foo\"; expect 'allow', 'block', 'filter' or 'drop'"),
        ("block 10.0.0.0/8", "unexpected token \"10.0.0.0/8\"; expect 'type | net'"),
        ("block type a", 'unexpected token "a"; expect legal QTYPE'),
        ("block type TYPE65280", 'unexpected token "TYPE65280"; expect legal QTYPE'),
        ("block net A", 'illegal CIDR notation "A/32"'),
        ("block net 10.0.0", 'illegal CIDR notation "10.0.0/32"'),
        ("block net 2001:db8::/129", 'illegal CIDR notation "2001:db8::/129"'),
        ("block net type A", 'no token specified in "net" section'),
        ("block TYPE", 'no token specified in "type" section'),
    ],
)
def test_lines_that_are_refused(line: str, error: str) -> None:
    with pytest.raises(CorefileError) as caught:
        parse(make_directive(f"acl {{\n {line}\n}}"))
    assert str(caught.value) == f"Corefile:3 - Error during parsing: {error}"


def test_sections_add_up_and_a_star_is_all() -> None:
    text = (
        "acl a.org {\n ALLOW Type A net 10.0.0.1 TYPE AAAA\n drop type A * NET 10.0.0.0/8 net * \n}\nacl {\n block\n}"
    )
    first, second = parse(make_directive(text))
    assert first.zones == ("a.org",)
    allow, drop = first.policies
    assert (allow.action, allow.types) == (Action.ALLOW, frozenset((consts.TYPE_A, consts.TYPE_AAAA)))
    assert allow.networks is not None
    assert (drop.action, drop.types, drop.networks) == (Action.DROP, None, None)
    assert (second.zones, [policy.action for policy in second.policies]) == ((), [Action.BLOCK])


@pytest.mark.parametrize(
    ("ip", "held"),
    [
        ("10.1.255.255", True),
        ("10.2.0.0", False),
        ("192.0.2.7", True),
        ("192.0.2.8", False),
        ("2001:db8::", True),
        ("2001:db7:ffff::", False),
        ("::1", True),
        ("::2", False),
        ("::a01:1", False),
    ],
)
def test_networks(ip: str, held: bool) -> None:
    networks = Networks.of(("10.0.0.0/15", "10.1.2.3/15", "192.0.2.7/32", "2001:db8::/32", "::1/128"))
    packed = addr.pack(ip)
    assert packed is not None
    assert networks.hold(packed) is held


@pytest.mark.parametrize("ip", ["0.0.0.0", "255.255.255.255"])
def test_everything(ip: str) -> None:
    packed = addr.pack(ip)
    assert packed is not None
    assert Networks.of(["0.0.0.0/0"]).hold(packed)
    assert not Networks.of(["::/0"]).hold(packed)
