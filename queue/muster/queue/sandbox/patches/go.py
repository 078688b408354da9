"""Values as messages of a real API server show them: as Go's `%v` does."""

from __future__ import annotations

from typing import Any

import orjson


def shown(value: Any) -> str:
    """Return a JSON value as `%v` shows it: `map[a:1 b:[x y]]`."""
    match value:
        case dict():
            return f"map[{' '.join(f'{name}:{shown(value[name])}' for name in sorted(value))}]"
        case list():
            return f"[{' '.join(map(shown, value))}]"
        case str():
            return value
        case None:
            return "<nil>"
        case _:
            return orjson.dumps(value).decode()
