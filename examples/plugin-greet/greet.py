"""greet: answer TXT for hello.example. with a greeting; everything else is the next plugin's."""

from waypost.wire.record import txt
from waypost.wire.reply import authoritative

AFTER = "template"


class Greet:
    name = "greet"

    def serve(self, request):
        query = request.query
        if query.name != b"\x05hello\x07example\x00":
            return self.next.serve(request)
        return authoritative(query, (txt(query.qname, 60, b"hello, " + request.client_ip.encode()),))


def setup(directive, site):
    site.add(Greet())
