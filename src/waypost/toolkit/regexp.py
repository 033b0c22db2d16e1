r"""Go's regular expressions (RE2 syntax, package regexp/syntax) on Python's `re`.

Corefiles are full of them, and the two languages share most of their syntax but not its meaning: in Go `$` is the very
end of the text, `\w` is ASCII, `(?i)` may stand anywhere, `{,3}` is plain text, and `(?=x)` and `\1` do not exist.
A pattern is read token by token and written anew, so that it means what it means in Go or is refused as Go refuses it.

Unlike RE2, `re` backtracks: on a name made for it `(a+)+$` takes for ever, and the server stands still. So a pattern
with more than a little to try is left to RE2 itself, whose time grows with the text's length alone. On plain patterns
`re` is many times faster.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple, NoReturn, Protocol

from waypost.toolkit import charclass

_MAX_REPEAT: Final = 1000
# What `re` may have to choose: at so many places, each time among as many ways as the text is long.
_MAX_CHOICES: Final = 2
# Far below Python's own recursion limit, which its `re` compiler would run into.
_MAX_DEPTH: Final = 100

_REPEAT: Final = re.compile(r"\{(0|[1-9][0-9]*)(,(0|[1-9][0-9]*)?)?\}")
_GROUP_NAME: Final = re.compile(r"\(\?P?<([^>]*)>")
_FLAGS: Final = re.compile(r"\(\?([imsU]*)(?:-([imsU]+))?([:)])")
_BAD_FLAGS: Final = re.compile(r"\(\?[imsU]*(?:-[imsU]*)?.?", re.DOTALL)
_POSIX: Final = re.compile(r"\[:(\^?)(.*?):\]")
_UNICODE: Final = re.compile(r"\\([pP])(?:\{(\^?)(.*?)\}|([^{]))")
_OCTAL: Final = re.compile(r"\\(0[0-7]{0,2}|[1-7][0-7]{1,2})")
_HEX: Final = re.compile(r"\\x(?:([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]+)\})")
_CONTROLS: Final = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ANCHORS: Final = {r"\A": r"\A", r"\z": r"\Z", r"\b": r"(?a:\b)", r"\B": r"(?a:\B)"}


class Match(Protocol):
    """A match; group 0 is the whole of it. A group that took no part is None."""

    def __getitem__(self, group: int | str, /) -> str | None:
        """The text of a group."""
        ...

    def groups(self) -> tuple[str | None, ...]:
        """The texts of all groups but 0."""
        ...

    def groupdict(self) -> dict[str, str | None]:
        """The texts of the groups with names."""
        ...


class Regexp(Protocol):
    """A compiled pattern. `groups` counts its groups."""

    @property
    def pattern(self) -> str:
        """What was compiled; not always as it was written."""
        ...

    @property
    def groups(self) -> int:
        """How many there are."""
        ...

    def search(self, text: str, /) -> Match | None:
        """The leftmost match in the text."""
        ...


def compile_regexp(text: str) -> Regexp:
    """Compile a Go regular expression; use `search` for Go's MatchString.

    Raises ValueError with Go's text: ``error parsing regexp: missing closing ]: `[a` ``.
    """
    translator = _Translator(text)
    translated = translator.translate()
    return _linear(text) if translator.backtracks else re.compile(translated)


def _linear(text: str) -> Regexp:
    """RE2 itself: loaded for those who need it."""
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        compiled: Regexp = re2.compile(text, options)
    except (re2.error, UnicodeEncodeError) as exc:
        reason = exc.args[0].decode() if isinstance(exc, re2.error) else "invalid UTF-8"
        raise ValueError(f"error parsing regexp: {reason}") from exc
    return compiled


class _Flags(NamedTuple):
    i: bool = False
    m: bool = False
    s: bool = False
    U: bool = False

    def changed(self, on: str, off: str) -> _Flags:
        return self._replace(**dict.fromkeys(on, True))._replace(**dict.fromkeys(off, False))


class _Group(NamedTuple):
    """An open parenthesis: where it stands in the output, and the flags that hold again after it."""

    start: int
    flags: _Flags


def _fail(what: str, where: str) -> NoReturn:
    raise ValueError(f"error parsing regexp: {what}: `{where}`")


class _Translator:
    """One pass over a pattern. `atom` is the place in `out` of what a repetition would apply to.

    `choices` counts the repetitions that may take more or less.
    """

    __slots__ = ("at", "atom", "choices", "flags", "groups", "names", "out", "repeat_start", "repeats_group", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.flags = _Flags()
        self.groups: list[_Group] = []
        self.names: set[str] = set()
        self.out: list[str] = []
        self.atom: int | None = None
        self.repeat_start: int | None = None
        self.choices = 0
        self.repeats_group = False

    @property
    def backtracks(self) -> bool:
        """True if `re` could take long: for a repeated group, or many choices, of which where to begin is one."""
        anchored = self.text.startswith("^") and "|" not in self.text
        return self.repeats_group or self.choices + (not anchored) > _MAX_CHOICES

    def translate(self) -> str:
        simple = {"(": self.open, ")": self.close, "|": self.alternate, "[": self.char_class, "\\": self.escape}
        while self.at < len(self.text):
            char = self.text[self.at]
            repeats = char in "*+?" or (char == "{" and _REPEAT.match(self.text, self.at) is not None)
            if repeats:
                self.repeat()
                continue
            self.repeat_start = None
            if char in simple:
                simple[char]()
            else:
                self.at += 1
                self.append(self.meaning(char))
        if self.groups:
            _fail("missing closing )", self.text)
        return "".join(self.out)

    def append(self, piece: str) -> None:
        self.atom = len(self.out)
        self.out.append(piece)

    def meaning(self, char: str) -> str:
        """One character outside of classes and escapes."""
        if char == ".":
            return "(?s:.)" if self.flags.s else "."
        if char == "^":
            return "(?m:^)" if self.flags.m else r"\A"
        if char == "$":
            return "(?m:$)" if self.flags.m else r"\Z"
        return self.literal(char)

    def literal(self, char: str) -> str:
        quoted = re.escape(char)
        return f"(?i:{quoted})" if self.flags.i and char.lower() != char.upper() else quoted

    def open(self) -> None:
        text, at = self.text, self.at
        if len(self.groups) >= _MAX_DEPTH:
            _fail("expression nests too deeply", text)
        if not text.startswith("(?", at):
            self.enter("(", at + 1)
        elif text.startswith(("(?P<", "(?<"), at) and not text.startswith(("(?<=", "(?<!"), at):
            self.open_named()
        elif found := _FLAGS.match(text, at):
            flags = self.flags.changed(found[1], found[2] or "")
            if found[3] == ":":
                self.enter("(?:", found.end())
            else:
                self.at = found.end()
                self.atom = None
            self.flags = flags
        else:
            bad = _BAD_FLAGS.match(text, at)
            _fail("invalid or unsupported Perl syntax", bad[0] if bad else text[at:])

    def open_named(self) -> None:
        found = _GROUP_NAME.match(self.text, self.at)
        if found is None:
            _fail("invalid named capture", self.text[self.at :])
        name = found[1]
        if not (name.isascii() and name.isidentifier()):
            _fail("invalid named capture", found[0])
        # Go lets a name stand twice, and it then means the first group.
        self.enter("(" if name in self.names else f"(?P<{name}>", found.end())
        self.names.add(name)

    def enter(self, piece: str, end: int) -> None:
        self.groups.append(_Group(len(self.out), self.flags))
        self.out.append(piece)
        self.at = end
        self.atom = None

    def close(self) -> None:
        if not self.groups:
            _fail("unexpected )", self.text)
        group = self.groups.pop()
        self.out.append(")")
        self.at += 1
        self.atom = group.start
        self.flags = group.flags

    def alternate(self) -> None:
        self.out.append("|")
        self.at += 1
        self.atom = None

    def repeat(self) -> None:
        text, start = self.text, self.at
        found = _REPEAT.match(text, start)
        end = found.end() if found else start + 1
        operator = text[start:end]
        lazy = text.startswith("?", end)
        self.at = end + lazy
        if self.repeat_start is not None:
            _fail("invalid nested repetition operator", text[self.repeat_start : self.at])
        if self.atom is None:
            _fail("missing argument to repetition operator", text[start : self.at])
        if found:
            low, high = int(found[1][:5]), int((found[3] or found[1])[:5])
            if high > _MAX_REPEAT or low > high:
                _fail("invalid repeat count", text[start : self.at])
        self.choices += not found or found[2] is not None
        if self.atom == len(self.out) - 1:  # `re` repeats no bare anchor
            self.out[self.atom] = f"(?:{self.out[self.atom]})"
        else:
            self.repeats_group = True
        self.out.append(operator + ("?" if lazy != self.flags.U else ""))
        self.repeat_start = start

    def escape(self) -> None:
        text, at = self.text, self.at
        anchor = text[at : at + 2]
        if anchor in _ANCHORS:
            self.at += 2
            self.append(_ANCHORS[anchor])
        elif anchor == r"\Q":
            end = text.find(r"\E", at)
            quoted = text[at + 2 : end if end >= 0 else None]
            self.at = end + 2 if end >= 0 else len(text)
            for char in quoted:
                self.append(self.literal(char))
        elif (members := self.shorthand()) is not None:
            self.append(self.folded(charclass.pattern(members)))
        else:
            self.append(self.literal(self.escaped_char()))

    def folded(self, piece: str) -> str:
        return f"(?i:{piece})" if self.flags.i else piece

    def char_class(self) -> None:
        text, start = self.text, self.at
        negated = text.startswith("[^", start)
        self.at = first = start + 1 + negated
        members: list[tuple[int, int]] = []
        while self.at == first or not text.startswith("]", self.at):
            if self.at >= len(text):
                _fail("missing closing ]", text[start:])
            shared = self.posix() if text.startswith("[:", self.at) else self.shorthand()
            members.extend(shared if shared is not None else (self.span(start),))
        self.at += 1
        self.append(self.folded(charclass.pattern(members, negated=negated)))

    def span(self, class_start: int) -> tuple[int, int]:
        """One character of a class, or two with a hyphen between them."""
        text, start = self.text, self.at
        low = high = self.class_char(class_start)
        if text.startswith("-", self.at) and not text.startswith("-]", self.at):
            self.at += 1
            high = self.class_char(class_start)
        if high < low:
            _fail("invalid character class range", text[start : self.at])
        return low, high

    def class_char(self, class_start: int) -> int:
        if self.at >= len(self.text):
            _fail("missing closing ]", self.text[class_start:])
        if self.text[self.at] == "\\":
            return ord(self.escaped_char())
        self.at += 1
        return ord(self.text[self.at - 1])

    def posix(self) -> charclass.Ranges | None:
        """`[:name:]`; without its end it is plain characters."""
        found = _POSIX.match(self.text, self.at)
        if found is None:
            return None
        members = charclass.POSIX.get(found[2])
        if members is None:
            _fail("invalid character class range", found[0])
        self.at = found.end()
        return charclass.complement(members) if found[1] else members

    def shorthand(self) -> charclass.Ranges | None:
        r"""`\d`, `\pN` and their like."""
        text, at = self.text, self.at
        if not text.startswith("\\", at) or at + 1 >= len(text):
            return None
        letter = text[at + 1]
        if letter in "pP":
            return self.unicode_class()
        members = charclass.PERL.get(letter.lower())
        if members is None:
            return None
        self.at += 2
        return charclass.complement(members) if letter.isupper() else members

    def unicode_class(self) -> charclass.Ranges:
        found = _UNICODE.match(self.text, self.at)
        if found is None:
            _fail("invalid character class range", self.text[self.at :])
        members = charclass.category(found[4] or found[3])
        if members is None:
            _fail("invalid character class range (scripts are not supported yet)", found[0])
        self.at = found.end()
        return charclass.complement(members) if (found[1] == "P") != bool(found[2]) else members

    def escaped_char(self) -> str:
        text, at = self.text, self.at
        following = text[at + 1 : at + 2]
        if not following:
            raise ValueError("error parsing regexp: trailing backslash at end of expression: ``")
        if found := _OCTAL.match(text, at):
            self.at = found.end()
            return chr(int(found[1], 8))
        if found := _HEX.match(text, at):
            code = int((found[1] or found[2])[-8:], 16)
            if code <= charclass.MAX_CODE_POINT:
                self.at = found.end()
                return chr(code)
        self.at += 2
        if following in _CONTROLS:
            return _CONTROLS[following]
        if following.isascii() and not following.isalnum():
            return following
        _fail("invalid escape sequence", text[at : self.at])
