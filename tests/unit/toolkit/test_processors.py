import pytest

from waypost.toolkit.processors import quota, usable_processors


@pytest.mark.parametrize(
    ("words", "processors"),
    [
        (["150000", "100000"], 1.5),
        (["10000", "100000"], 0.1),
        (["max", "100000"], None),
        (["-1", "100000"], None),
        (["100000", "0"], None),
        (["100000"], None),
        ([], None),
        (["1", "2", "3"], None),
    ],
)
def test_quota(words: list[str], processors: float | None) -> None:
    assert quota(words) == processors


def test_there_is_one_at_least() -> None:
    assert usable_processors() >= 1
