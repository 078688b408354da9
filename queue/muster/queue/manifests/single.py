"""
A file that holds one document of a known form: from its path to a model, or to what is wrong.

It knows nothing of what the models mean; who reads such a file says what it should be.
"""

from __future__ import annotations

from typing import TypeVar

from pydantic import ValidationError

from muster.queue.api.problems import describe
from muster.queue.api.schema import ApiModel, read
from muster.queue.manifests.complaints import Complaint, ManifestError, Origin
from muster.queue.manifests.parsing import Document, SyntaxProblem, parse
from muster.queue.manifests.sources import Source, read_file

Model = TypeVar("Model", bound=ApiModel)


def read_single(path: str, model: type[Model], what: str) -> Model:
    """
    Return the one document in the file at `path` as a `model`.

    `what` names it in a complaint, as in "a kubeconfig". Raises ManifestError, which says
    everything that is wrong at once.
    """
    source = read_file(path)
    if isinstance(source, Complaint):
        raise ManifestError([source])
    document = _only_document(source, what)
    flaws = [complaint(source.name, flaw.message, line=flaw.line) for flaw in document.flaws]
    try:
        found = read(model, document.value)
    except ValidationError as error:
        flaws += [
            complaint(source.name, each.message, path=each.path, line=document.line_of(each.path))
            for each in describe(error, model)
        ]
    else:
        if not flaws:
            return found
    raise ManifestError(flaws)


def complaint(name: str, message: str, *, path: str = "", line: int | None = None) -> Complaint:
    """Return a complaint about a file as a whole, or about the place `path` in it."""
    return Complaint(origin=Origin(source=name), path=path, message=message, line=line)


def _only_document(source: Source, what: str) -> Document:
    try:
        documents = [each for each in parse(source.text, is_json=source.is_json) if each.value]
    except SyntaxProblem as problem:
        wrong = complaint(source.name, problem.message, line=problem.line)
        raise ManifestError([wrong]) from None
    if len(documents) != 1 or not isinstance(documents[0].value, dict):
        raise ManifestError([complaint(source.name, f"expected one document, {what}")])
    return documents[0]
