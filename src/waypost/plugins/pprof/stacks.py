"""Stacks as tuples of labels, outermost first: of threads, of waiting tasks; and the two ways to write them."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from types import FrameType
from typing import Any

Stack = tuple[str, ...]


def label(frame: FrameType, *, line: bool = False) -> str:
    """`module:function`, with `line` and the line where it is."""
    name = f"{frame.f_globals.get('__name__', '?')}:{frame.f_code.co_qualname}"
    return f"{name}:{frame.f_lineno}" if line else name


def thread_stack(frame: FrameType, *, line: bool = False) -> Stack:
    """The stack that a frame is the innermost of."""
    labels = []
    current: FrameType | None = frame
    while current is not None:
        labels.append(label(current, line=line))
        current = current.f_back
    return tuple(reversed(labels))


def task_stack(task: asyncio.Task[Any]) -> Stack:
    """Where a task waits: its coroutine, what that awaits, and so on."""
    labels = []
    waiting: Any = task.get_coro()
    while waiting is not None:
        frame = _first(waiting, "cr_frame", "gi_frame", "ag_frame")
        if frame is None:
            break
        labels.append(label(frame, line=True))
        waiting = _first(waiting, "cr_await", "gi_yieldfrom", "ag_await")
    return tuple(labels)


def everything() -> tuple[Counter[Stack], dict[str, Stack]]:
    """The tasks of the running loop by stack, and the threads by name."""
    tasks = Counter(map(task_stack, asyncio.all_tasks()))
    frames = sys._current_frames()
    threads = {
        f"{thread.name} ({thread.ident})": thread_stack(frames[thread.ident], line=True)
        for thread in threading.enumerate()
        if thread.ident in frames
    }
    return tasks, threads


def folded(weights: Mapping[Stack, int]) -> bytes:
    """A line for each stack, its labels joined by `;`, and its weight: what flame graph tools and speedscope read."""
    lines = (f"{';'.join(stack)} {weight}\n" for stack, weight in sorted(weights.items()) if stack)
    return "".join(lines).encode()


def text(tasks: Counter[Stack], threads: Mapping[str, Stack]) -> bytes:
    """For people: the tasks, the most frequent stack first, and each thread."""
    lines = [f"{tasks.total()} tasks"]
    for stack, count in sorted(tasks.items(), key=lambda item: (-item[1], item[0])):
        lines += ["", f"{count} x", *_indented(stack)]
    lines += ["", f"{len(threads)} threads"]
    for name, stack in threads.items():
        lines += ["", name, *_indented(stack)]
    return ("\n".join(lines) + "\n").encode()


def _indented(stack: Iterable[str]) -> Iterator[str]:
    return (f"    {label}" for label in stack)


def _first(item: object, *names: str) -> Any:
    """The first of these attributes that there is."""
    return next((found for name in names if (found := getattr(item, name, None)) is not None), None)
