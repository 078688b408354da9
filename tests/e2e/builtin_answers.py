"""
What an API server makes of manifests of built-in kinds, and of changes to such objects.

`answers` asks a server; `RECORDED` is what a real one said, and `ENCODED` the same of new objects
in protocol buffers. To record anew, after a new version of Kubernetes or for new cases:

    .venv/bin/python -m tests.e2e.builtin_answers KUBECONFIG

Objects are compared whole but for what differs each time. Of refusals the causes are compared; how
a refusal shows a whole object in Go's words is not.
"""

import base64
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.e2e.api import JSON, MERGE, PROTOBUF, Answer, Api, collection
from tests.queue.api.manifests import Manifest, changed

CASES = Path(__file__).parents[1] / "queue/sandbox/kinds"
RECORDED = CASES / "answers.json"
ENCODED = CASES.parent / "http/encoded.json"

Told = dict[str, Any]
"""An answer as it is compared."""

_CHANGES_EACH_TIME = ("creationTimestamp", "managedFields", "resourceVersion")
_UID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_STRUCTURE = re.compile(r"(?<= value: )[{\[].*[}\]](?=: |$)", re.DOTALL)
_TIME = re.compile(r'(?<="lastTransitionTime": ")[^"]*')
_ACCEPTED_MAX = 299
_ATTEMPTS_MAX = 10


def cases(name: str) -> dict[str, Any]:
    """Return the cases of one file."""
    found: dict[str, Any] = yaml.safe_load((CASES / f"{name}.yaml").read_text(encoding="utf-8"))
    return found


def changes(entry: dict[str, Any]) -> Iterator[tuple[str, str, Manifest]]:
    """Yield the changes to try on an object: a name, a sub-resource and the changes."""
    for part, listed in entry["changes"].items():
        subresource = "" if part == "object" else part
        for each in listed:
            yield f"{part} {json.dumps(each)}", subresource, each


def told(code: int, body: Manifest) -> Told:
    """Return what is compared of an answer."""
    if code > _ACCEPTED_MAX:
        details = body.get("details") or {}
        causes = [
            " ".join((each.get("reason", ""), each.get("field", ""), _words(each["message"])))
            for each in details.get("causes") or ()
        ]
        # What is in a mapping is refused in any order; faults of metadata are told more than once.
        of_metadata = dict.fromkeys(each for each in causes if " metadata." in each)
        others = [each for each in causes if each not in of_metadata]
        listed = sorted((*of_metadata, *others)) or [_words(body["message"])]
        about = {name: details[name] for name in ("group", "kind") if name in details}
        return {"code": code, "reason": body.get("reason", ""), **about, "told": listed}
    text = json.dumps(body, sort_keys=True)
    if uid := body["metadata"].get("uid"):
        text = text.replace(uid, "UID")
    obj: Manifest = json.loads(_TIME.sub("NOW", text))
    for name in _CHANGES_EACH_TIME:
        obj["metadata"].pop(name, None)
    return obj


def _words(message: str) -> str:
    return _UID.sub("UID", _STRUCTURE.sub("...", message.partition("\n")[0]))


def answers(api: Api) -> dict[str, Told]:
    """Ask a server for everything; nothing stays."""
    found: dict[str, Told] = {}
    for file in ("accepted", "refused"):
        for name, manifest in cases(file).items():
            answer = api.create(manifest, dryRun="All")
            found[f"{file}: {name}"] = told(answer.code, answer.body)
    for name, entry in cases("changes").items():
        for change, answer_told in _changed(api, entry):
            found[f"{name}: {change}"] = answer_told
    return found


def encoded(api: Api) -> dict[str, str]:
    """Ask a real server for objects in protocol buffers, and return them in base64 by case."""
    found: dict[str, str] = {}
    for name, manifest in cases("accepted").items():
        path, headers = f"{collection(manifest)}?dryRun=All", {"Accept": PROTOBUF}
        answer = api.request("POST", path, json.dumps(manifest).encode(), JSON, headers)
        found[name] = base64.b64encode(answer.content).decode()
    return found


def _changed(api: Api, entry: dict[str, Any]) -> Iterator[tuple[str, Told]]:
    made = api.create(entry["manifest"]).expect(201)
    try:
        if "status" in entry:
            patch = {"status": entry["status"]}
            made = api.patch(made, patch, MERGE, "/status").expect(200)
        for name, subresource, each in changes(entry):
            answer = _replaced(api, made, each, f"/{subresource}" if subresource else "")
            yield name, told(answer.code, answer.body)
    finally:
        api.delete(made, {"gracePeriodSeconds": 0})


def _replaced(api: Api, made: Manifest, changes: Manifest, subresource: str) -> Answer:
    """Change an object in vain, on top of whatever controllers have made of it."""
    for _ in range(_ATTEMPTS_MAX):
        new = changed(made, changes)
        revision = api.get(made).expect(200)["metadata"]["resourceVersion"]
        new["metadata"]["resourceVersion"] = revision
        answer = api.replace(new, subresource, dryRun="All")
        if answer.body.get("reason") != "Conflict":
            return answer
    raise AssertionError(f"somebody else keeps changing {made['metadata']['name']}")


def main() -> None:
    """Record what the server behind a kubeconfig says."""
    with Api(Path(sys.argv[1])) as api:
        _write(RECORDED, answers(api))
        _write(ENCODED, encoded(api))


def _write(path: Path, found: dict[str, Any]) -> None:
    lines = (f"{json.dumps(name)}: {json.dumps(found[name], sort_keys=True)}" for name in found)
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
