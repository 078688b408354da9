"""Fields that nobody knows and fields given twice: refused, warned of, or ignored, as asked for."""

import pytest

from tests.e2e.api import APPLY, JSON, JSON_PATCH, MERGE, STRATEGIC, Answer, collection, place
from tests.e2e.probes.gadgets import GADGET
from tests.e2e.probes.probe import Probe, causes
from tests.queue.api.manifests import Manifest

pytestmark = pytest.mark.usefixtures("gadgets")

YAML = "application/yaml"
MAP = "ConfigMap", "v1"
POD = "Pod", "v1"


def post(
    probe: Probe, kind: tuple[str, str], body: str, content_type: str = JSON, **query: str
) -> Answer:
    """Try to create an object of this text, in which NAME stands for a name of its own."""
    text = body.replace("NAME", probe.a_name()).encode()
    return probe.api.request("POST", collection(probe.a(*kind)), text, content_type, **query)


def texts(warnings: tuple[str, ...]) -> list[str]:
    """Return what the headers say: code 299, no agent, and a quoted text."""
    assert all(text.startswith('299 - "') and text.endswith('"') for text in warnings)
    return [text[len('299 - "') : -1].replace('\\"', '"') for text in warnings]


HEAD = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"NAME"}'
UNKNOWN = HEAD + ',"data":{"a":"b"},"top":1}'
TWICE = HEAD + ',"data":{"a":"1","a":"2"}}'
POD_TEXT = (
    '{"metadata":{"name":"NAME"},"spec":{"schedulerName":"nobody","color":"red","containers":'
    '[{"name":"c","image":"i","imagee":"j","env":[{"name":"A","valu":"1"}]}]}}'
)
GADGET_HEAD = '{"apiVersion":"e2e.muster.dev/v1","kind":"Gadget","metadata":{"name":"NAME"}'
GADGET_TEXT = GADGET_HEAD + ',"top":1,"spec":{"other":1,"parts":[{"name":"a","size":1}]}}'
GADGET_TWICE = GADGET_HEAD + ',"spec":{"size":1,"size":2}}'
YAML_HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: NAME\n"
YAML_UNKNOWN = f"{YAML_HEAD}top: 1\n"
YAML_TWICE = f'{YAML_HEAD}data:\n  a: "1"\n  a: "2"\n'
YAML_GADGET = (
    "apiVersion: e2e.muster.dev/v1\nkind: Gadget\nmetadata:\n  name: NAME\n"
    "spec:\n  size: 1\n  size: 2\n"
)

CASES = {
    "unknown in a builtin": (MAP, UNKNOWN, JSON, ['unknown field "top"']),
    "twice in a builtin": (MAP, TWICE, JSON, ['duplicate field "data.a"']),
    "a whole twice": (
        MAP,
        HEAD + ',"data":{"a":"1"},"data":{"b":"2"}}',
        JSON,
        ['duplicate field "data"'],
    ),
    "of another case": (MAP, HEAD + ',"Data":{"a":"1"}}', JSON, ['unknown field "Data"']),
    "deep in a builtin": (
        POD,
        POD_TEXT,
        JSON,
        [
            'unknown field "spec.color"',
            'unknown field "spec.containers[0].env[0].valu"',
            'unknown field "spec.containers[0].imagee"',
        ],
    ),
    "in metadata": (
        MAP,
        '{"metadata":{"name":"NAME","other":1}}',
        JSON,
        ['unknown field "metadata.other"'],
    ),
    "unknown in a custom resource": (
        GADGET,
        GADGET_TEXT,
        JSON,
        [
            'unknown field "spec.other"',
            'unknown field "spec.parts[0].size"',
            'unknown field "top"',
        ],
    ),
    "twice in a custom resource": (GADGET, GADGET_TWICE, JSON, ['duplicate field "spec.size"']),
    "in metadata of a custom resource": (
        GADGET,
        GADGET_HEAD.replace('"NAME"', '"NAME","other":1') + "}",
        JSON,
        ['unknown field "metadata.other"'],
    ),
    "unknown in YAML": (MAP, YAML_UNKNOWN, YAML, ['unknown field "top"']),
    "twice in YAML": (MAP, YAML_TWICE, YAML, ['line 7: key "a" already set in map']),
    "twice in YAML of a custom resource": (
        GADGET,
        YAML_GADGET,
        YAML,
        ['line 7: key "size" already set in map'],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_strict_request_is_refused(case: str, probe: Probe) -> None:
    kind, text, content_type, faults = CASES[case]

    answer = post(probe, kind, text, content_type, fieldValidation="Strict")

    answer.expect_refusal(400, "BadRequest")
    name, version = kind
    start = f'{name} in version "{version.rpartition("/")[2]}" cannot be handled as a {name}: '
    assert answer.message.startswith(f"{start}strict decoding error: ")
    for fault in faults:
        assert fault in answer.message


@pytest.mark.parametrize("query", [{}, {"fieldValidation": "Warn"}], ids=str)
@pytest.mark.parametrize("case", CASES)
def test_by_default_it_is_warned_of(case: str, query: dict[str, str], probe: Probe) -> None:
    kind, text, content_type, faults = CASES[case]

    answer = post(probe, kind, text, content_type, **query)

    answer.expect(201)
    assert sorted(texts(answer.warnings)) == faults


@pytest.mark.parametrize("case", CASES)
def test_it_may_be_ignored(case: str, probe: Probe) -> None:
    kind, text, content_type, _ = CASES[case]

    answer = post(probe, kind, text, content_type, fieldValidation="Ignore")

    answer.expect(201)
    assert answer.warnings == ()


def test_the_last_of_two_values_counts(probe: Probe) -> None:
    assert post(probe, MAP, TWICE).expect(201)["data"] == {"a": "2"}
    assert post(probe, GADGET, GADGET_TWICE).expect(201)["spec"] == {"size": 2}
    assert post(probe, MAP, YAML_TWICE, YAML).expect(201)["data"] == {"a": "2"}


def test_what_nobody_knows_is_not_kept(probe: Probe) -> None:
    assert "top" not in post(probe, MAP, UNKNOWN).expect(201)
    made = post(probe, GADGET, GADGET_TEXT).expect(201)
    assert made["spec"] == {"size": 1, "parts": [{"name": "a", "weight": 1}]}
    assert "top" not in made


def test_what_is_known_is_not_warned_of(probe: Probe) -> None:
    answer = probe.api.create(probe.a(*GADGET, spec={"free": {"any": 1}}), fieldValidation="Strict")

    answer.expect(201)
    assert answer.warnings == ()


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_other_validations_are_unknown(method: str, probe: Probe) -> None:
    made = probe.create(probe.a(*MAP))
    path = collection(made) if method == "POST" else place(made)
    content_type = MERGE if method == "PATCH" else JSON

    answer = probe.api.request(method, path, made, content_type, fieldValidation="Lax")

    options = {"POST": "CreateOptions", "PUT": "UpdateOptions", "PATCH": "PatchOptions"}
    details = answer.expect_refusal(422, "Invalid", 'Unsupported value: "Lax"')
    assert details["kind"] == options[method]
    assert causes(answer) == [("FieldValueNotSupported", "fieldValidation")]


# -- changes -------------------------------------------------------------------------------------


def test_a_strict_replacement_is_refused(probe: Probe) -> None:
    made = probe.create(probe.a(*MAP))

    answer = probe.api.replace({**made, "top": 1}, fieldValidation="Strict")

    answer.expect_refusal(400, "BadRequest", 'strict decoding error: unknown field "top"')


PATCHES = {
    "merge": (MAP, MERGE, b'{"top":1}', 'unknown field "top"'),
    "merge, twice": (MAP, MERGE, b'{"data":{"a":"1","a":"2"}}', 'duplicate field "data.a"'),
    "merge of a gadget": (GADGET, MERGE, b'{"spec":{"other":1}}', 'unknown field "spec.other"'),
    "strategic": (MAP, STRATEGIC, b'{"top":1}', 'unknown field "top"'),
    "operations": (
        MAP,
        JSON_PATCH,
        b'[{"op":"add","path":"/top","value":1}]',
        'unknown field "top"',
    ),
    "an operation": (
        MAP,
        JSON_PATCH,
        b'[{"op":"add","path":"/data","value":{},"other":1}]',
        'json patch unknown field "[0].other"',
    ),
}


@pytest.mark.parametrize("case", PATCHES)
def test_a_strict_patch_is_refused(case: str, probe: Probe) -> None:
    kind, content_type, patch, fault = PATCHES[case]
    made = probe.create(probe.a(*kind, **({"spec": {}} if kind == GADGET else {})))

    answer = probe.api.patch(made, patch, content_type, fieldValidation="Strict")

    answer.expect_refusal(422, "Invalid", f"strict decoding error: {fault}")
    assert causes(answer) == [("FieldValueInvalid", "patch")]
    assert probe.get(made) == made


@pytest.mark.parametrize("case", PATCHES)
def test_a_patch_is_warned_of(case: str, probe: Probe) -> None:
    kind, content_type, patch, fault = PATCHES[case]
    made = probe.create(probe.a(*kind, **({"spec": {}} if kind == GADGET else {})))

    answer = probe.api.patch(made, patch, content_type)

    answer.expect(200)
    assert texts(answer.warnings) == [fault]


def test_a_strict_apply_is_refused(probe: Probe) -> None:
    manifest = probe.a(*MAP)
    text = YAML_TWICE.replace("NAME", manifest["metadata"]["name"]).encode()
    query = {"fieldManager": "me"}

    strict = probe.api.request(
        "PATCH", place(manifest), text, APPLY, fieldValidation="Strict", **query
    )
    lax = probe.api.request("PATCH", place(manifest), text, APPLY, **query)

    message = "error strict decoding YAML: "
    strict.expect_refusal(400, "BadRequest", message)
    assert 'line 7: key "a" already set in map' in strict.message
    assert lax.expect(201)["data"] == {"a": "2"}
    assert texts(lax.warnings) == ['line 7: key "a" already set in map']


def test_a_warning_for_each_fault(probe: Probe) -> None:
    unknown: Manifest = {f"unknown{number}": 1 for number in range(40)}

    answer = probe.api.create(probe.a(*MAP, **unknown))

    answer.expect(201)
    assert len(texts(answer.warnings)) == 40
