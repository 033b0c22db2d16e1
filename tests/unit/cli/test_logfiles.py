"""Logs on disk: batches of lines whatever their bytes, gzip, several files in the order of time."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.querylog import line, reader
from waypost.cli import logfiles
from waypost.cli.logfiles import LogFiles, lines_of
from waypost.cli.podside import InputError


def lines(data: bytes) -> list[str]:
    return [each for batch in lines_of(io.BytesIO(data)) for each in batch]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b"a", ["a"]),
        (b"a\nb\n", ["a", "b"]),
        (b"a\n\nb", ["a", "", "b"]),
        (b"a\xff\xe2\x82\xac\n", ["a\\xff\u20ac"]),
    ],
)
def test_lines(data: bytes, expected: list[str]) -> None:
    assert lines(data) == expected


@given(st.lists(st.binary(max_size=30).map(lambda raw: raw.replace(b"\n", b"")), max_size=20), st.integers(1, 40))
def test_chunks_make_no_difference(texts: list[bytes], chunk: int) -> None:
    data = b"".join(text + b"\n" for text in texts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logfiles, "_CHUNK", chunk)
        found = lines(data)
    assert len(found) == len(texts)
    for text, shown in zip(texts, found, strict=True):
        if len(text) <= chunk:
            assert shown == text.decode("utf-8", "backslashreplace")


def test_an_enormous_line_is_one_line_and_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logfiles, "_CHUNK", 100)
    found = lines(b"a\n" + b"x" * 10_000 + b"\nb\n")
    assert [found[0], found[-1], len(found)] == ["a", "b", 3]
    assert len(found[1]) <= 200


def queries(*paths: Path) -> tuple[list[str], LogFiles]:
    files = LogFiles([str(path) for path in paths], reader())
    return [query.name for query in files.queries()], files


def write(path: Path, *texts: str) -> Path:
    path.write_text("".join(f"{text}\n" for text in texts))
    return path


def at(second: int, name: str) -> str:
    return f"2024-05-01T10:40:{second:02}Z {line(name)}"


def test_several_files_are_merged_by_time(tmp_path: Path) -> None:
    one = write(tmp_path / "one", at(1, "a."), "plugin", at(5, "d."), line("e."))
    two = write(tmp_path / "two", at(2, "b."), at(3, "c."), at(9, "f."))
    names, files = queries(one, two)
    assert names == ["a.", "b.", "c.", "d.", "e.", "f."]
    assert files.lines == 7


def test_gzip(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(gzip.compress(f"{line('a.')}\n".encode()) + gzip.compress(f"{line('b.')}\n".encode()))
    assert queries(path)[0] == ["a.", "b."]


def test_damaged_gzip_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "log"
    packed = gzip.compress("".join(f"{line(f'a{number}.')}\n" for number in range(5_000)).encode())
    for damaged in (packed[:-8], packed[: len(packed) // 2], packed[:-8] + b"\0" * 8, packed + b"rubbish"):
        path.write_bytes(damaged)
        _, files = queries(path)
        assert len(files.notes) == 1
        assert str(path) in files.notes[0]


@pytest.mark.parametrize("name", ["missing", "."])
def test_what_cannot_be_read(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"No such file|Is a directory"):
        queries(tmp_path / name)
