"""The identifiers by which expressions know fields whose names are no identifiers, as `foo-bar`."""

from __future__ import annotations

import re
from typing import Final

_RESERVED: Final = frozenset(
    {
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for"),
        *("function", "if", "import", "let", "loop", "package", "namespace", "return", "var"),
        *("void", "while"),
    }
)
_ESCAPES: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_ESCAPED: Final = re.compile(r"__|[-./]")
_NAMEABLE: Final = re.compile(r"[A-Za-z_./-][A-Za-z0-9_./-]*")


def escaped(name: str) -> str:
    """Return the identifier by which expressions know a field, "" if they can't."""
    if name in _RESERVED:
        return f"__{name}__"
    if not _NAMEABLE.fullmatch(name):
        return ""
    return _ESCAPED.sub(lambda match: _ESCAPES[match[0]], name)
