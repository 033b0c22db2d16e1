"""`waypost explain`: how a name resolves for a pod, query by query, and why the answer is what it is."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from waypost.cli.admin import AdminError, admin_address
from waypost.cli.asking import (
    Scene,
    add_corefile,
    add_question,
    add_scene,
    check_corefile,
    corefile_server,
    lookup_of,
    read_scene,
)
from waypost.cli.paint import Line, print_lines, rcode_style
from waypost.cli.podside import InputError, Refused, print_failure, print_json
from waypost.cli.world import add_world_options, check_world, printable
from waypost.podside.advice import read_conf
from waypost.podside.cascade import RESOLVERS, cascade
from waypost.podside.nodefile import NodeFileError
from waypost.podside.resolvers.transcript import TooManyQueries

if TYPE_CHECKING:
    from waypost.cli.explainers import Explainer
    from waypost.explanation.story import Story
    from waypost.explanation.told import Told

_EPILOG: Final = """\
exit code: 0 explained, whatever the name resolves to (NXDOMAIN too), 1 a file or server cannot be used, 2 wrong usage

examples:
  waypost explain web.prod --example
  waypost explain web --conf Corefile --manifests deploy/ --from shop/client
  waypost explain web.shop --conf Corefile --kubeconfig ~/.kube/config --pod pod.yaml
  waypost explain api.example.com. --conf Corefile --offline
  waypost explain _http._tcp.web.shop SRV --conf Corefile --manifests deploy/ --client 10.244.1.7
  waypost explain 10.96.0.10 PTR --admin 127.0.0.1:9253
  kubectl -n kube-system exec deploy/coredns -- waypost explain web.shop --admin 127.0.0.1:9253 -o json
"""
_PLUGIN_WIDTH: Final = 11


def main(words: Sequence[str]) -> int:
    """Print the story."""
    parser = make_parser()
    options = parser.parse_intermixed_args(words)
    check_world(parser, options)
    check_corefile(parser, options)
    if options.admin and (options.conf or options.example or options.manifests or options.kubeconfig):
        parser.error("--admin asks a running server, which has a Corefile and a cluster of its own")
    if options.resolver != "glibc" and options.type not in (None, "A", "AAAA"):
        parser.error("--resolver is for addresses: other types are looked up with glibc's res_search")
    try:
        scene = read_scene(options)
        with _explainer(options, scene.client) as explainer:
            return _explain(options, scene, explainer)
    except (InputError, NodeFileError, Refused, TooManyQueries, AdminError) as exc:
        return print_failure(exc, options.output)


def _explain(options: argparse.Namespace, scene: Scene, explainer: Explainer) -> int:
    from waypost.explanation.story import Story

    world = scene.world
    lookup = lookup_of(options, world, search=not options.no_search)
    made = cascade(lookup, options.resolver, explainer)
    story = Story(lookup.name, world.namespace, world.domain, made, explainer.told)
    conf = read_conf(lookup, options.resolver)
    if options.output == "json":
        facts = {"client": scene.client, "searches": list(conf.searches), "ndots": conf.ndots}
        print_json({**facts, **story.as_json()})
        return 0
    searches = " ".join(conf.searches) or "(none)"
    print_lines(
        [
            [("pod      ", "dim"), (printable(f"namespace {world.namespace}, address {scene.client}"), "")],
            [("search   ", "dim"), (printable(f"{searches}, ndots:{conf.ndots}"), "")],
            [("answers  ", "dim"), (printable(explainer.title), "")],
            [],
        ]
    )
    print_lines(_lines(story))
    return 0


def _lines(story: Story) -> Iterator[Line]:
    before: Told | None = None
    for number, told in enumerate(story.told, 1):
        transport = "" if told.transport == "udp" else f" over {told.transport}"
        head = printable(f"{number}  {told.name} {told.type}{transport}  ")
        yield [(head, "bold"), (told.rcode, rcode_style(told.rcode)), (f"  {told.milliseconds:.1f} ms", "dim")]
        if before is not None and _shown(before) == _shown(told):
            yield [(f"   as {number - 1}", "dim")]
        else:
            yield from _notes(told)
        for line in told.answer:
            yield [(f"   {'answer':<{_PLUGIN_WIDTH}} ", "dim"), (printable(line), "green")]
        yield []
        before = told
    yield [(printable(story.closing), "bold")]


def _shown(told: Told) -> tuple[str, list[tuple[str, str]]]:
    return told.rcode, [(note.plugin, note.text) for note in told.notes]


def _notes(told: Told) -> Iterator[Line]:
    plugin = ""
    for note in told.notes:
        name = note.plugin if note.plugin != plugin else ""
        plugin = note.plugin
        indent = "  " * note.depth
        style = "bold" if note.step == "answered" else ""
        yield [(f"   {name:<{_PLUGIN_WIDTH}} ", "cyan"), (printable(f"{indent}{note.text}"), style)]
        behind = "; ".join(filter(None, (", ".join(note.objects), note.version)))
        if note.version:
            yield [(f"   {'':<{_PLUGIN_WIDTH}} {indent}", ""), (printable(f"({behind})"), "dim")]


@contextmanager
def _explainer(options: argparse.Namespace, client: str) -> Iterator[Explainer]:
    """What answers and tells how. Raises InputError."""
    from waypost.cli.explainers import Explainer, remote

    if options.admin:
        source = remote(options.admin, client, offline=options.offline)
        yield Explainer(f"the server with the admin endpoint {options.admin}", source)
        return
    from waypost.cli.explainers import local

    with corefile_server(options, client) as server:
        yield Explainer(
            f"{options.conf or 'Corefile' if not options.example else 'the example'} in this process",
            local(server, offline=options.offline),
        )


def make_parser() -> argparse.ArgumentParser:
    """The words of the command."""
    parser = argparse.ArgumentParser(
        prog="waypost explain",
        description="Show how a name resolves for a pod: the queries of its search list, what each plugin decides and "
        "on which data, the answer, and in one sentence why it is what it is.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_question(parser, "A and AAAA")
    add_scene(parser)
    parser.add_argument("--no-search", action="store_true", help="NAME is the whole name, as with a final dot")
    parser.add_argument("--resolver", choices=tuple(RESOLVERS), default="glibc", help="default: glibc")
    parser.add_argument(
        "--offline", "--no-forward", action="store_true", help="ask no upstream: say which would be asked"
    )
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="default: text")
    add_corefile(parser)
    parser.add_argument_group("a running server").add_argument(
        "--admin", type=admin_address, metavar="ADDR",
        help="HOST:PORT that 'waypost { admin }' of its Corefile names: what that replica thinks",
    )  # fmt: skip
    add_world_options(parser)
    return parser
