from support.chain import make_request
from waypost.wire import consts
from waypost.wire.names import from_text


def test_a_child_knows_the_question_that_came_in() -> None:
    request = make_request("a.org.", "ANY")
    child = request.asking(from_text("b.org."), consts.TYPE_A)
    grandchild = child.asking(from_text("c.org."), consts.TYPE_A)
    assert request.asked is None
    assert child.asked is request.query
    assert grandchild.asked is request.query


def test_a_child_is_signed_for_as_its_parent() -> None:
    request = make_request("a.org.")
    assert request.asking(from_text("b.org."), consts.TYPE_A).sign is None
    request.sign = bytes.lower
    assert request.asking(from_text("b.org."), consts.TYPE_A).sign is request.sign
