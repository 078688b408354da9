"""API objects for tests of the translation: minimal ones with changes."""

from typing import Any, TypeVar

from muster.queue.api.registry import ApiObject, parse_object
from tests.queue.api.manifests import changed

Model = TypeVar("Model", bound=ApiObject)


def a_model(
    kind: type[Model], changes: dict[str, Any] | None = None, *, stored: bool = False
) -> Model:
    """
    Return the smallest object of a kind, named "x", with the value at each path replaced.

    One that is `stored` may be as no webhook would let it pass.
    """
    model = parse_object(changed(kind.__name__, changes or {}), stored=stored)
    assert isinstance(model, kind)
    return model
