"""
Makes of a JSON document the object of a built-in kind that it stands for, or says why it is none.

In place: unknown fields and nulls are dropped, empty lists and maps left out, quantities and times
brought into the form in which they are kept. Only types are judged here, in the words of a real
server; whether values make sense is for validation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from muster.queue.sandbox.schema import literals
from muster.queue.sandbox.schema.go import json_type
from muster.queue.sandbox.schema.node import Schema

_Decode = Callable[[Any, list[str]], Any]
"""From a value, and the unknown fields found so far, to what is kept of it; None for nothing."""

_COMPILED: Final = "decode"

# Structs whose fields stand in others: they are named in messages, never in documents.
_INLINE: Final[Mapping[tuple[str, str], str]] = {
    ("ConfigMapEnvSource", "name"): "LocalObjectReference",
    ("ConfigMapKeySelector", "name"): "LocalObjectReference",
    ("ConfigMapProjection", "name"): "LocalObjectReference",
    ("ConfigMapVolumeSource", "name"): "LocalObjectReference",
    ("SecretEnvSource", "name"): "LocalObjectReference",
    ("SecretKeySelector", "name"): "LocalObjectReference",
    ("SecretProjection", "name"): "LocalObjectReference",
    **{("Probe", name): "ProbeHandler" for name in ("exec", "httpGet", "tcpSocket", "grpc")},
}
_INLINE_ALL_BUT: Final[Mapping[str, tuple[str, frozenset[str]]]] = {
    "Volume": ("VolumeSource", frozenset({"name"})),
    "EphemeralContainer": ("EphemeralContainerCommon", frozenset({"targetContainerName"})),
}

# Types with a name of their own that documents show as plain strings.
_NAMED_TEXTS: Final[Mapping[tuple[str, str], str]] = {
    ("Capabilities", "add"): "v1.Capability",
    ("Capabilities", "drop"): "v1.Capability",
    ("Container", "imagePullPolicy"): "v1.PullPolicy",
    ("Container", "terminationMessagePolicy"): "v1.TerminationMessagePolicy",
    ("ContainerPort", "protocol"): "v1.Protocol",
    ("JobCondition", "status"): "v1.ConditionStatus",
    ("JobCondition", "type"): "v1.JobConditionType",
    ("JobSpec", "completionMode"): "v1.CompletionMode",
    ("JobSpec", "podReplacementPolicy"): "v1.PodReplacementPolicy",
    ("LabelSelectorRequirement", "operator"): "v1.LabelSelectorOperator",
    ("ManagedFieldsEntry", "operation"): "v1.ManagedFieldsOperationType",
    ("NodeCondition", "status"): "v1.ConditionStatus",
    ("NodeCondition", "type"): "v1.NodeConditionType",
    ("NodeSelectorRequirement", "operator"): "v1.NodeSelectorOperator",
    ("ObjectMeta", "uid"): "types.UID",
    ("ObjectReference", "uid"): "types.UID",
    ("OwnerReference", "uid"): "types.UID",
    ("PodCondition", "status"): "v1.ConditionStatus",
    ("PodCondition", "type"): "v1.PodConditionType",
    (
        "PodFailurePolicyOnExitCodesRequirement",
        "operator",
    ): "v1.PodFailurePolicyOnExitCodesOperator",
    ("PodFailurePolicyOnPodConditionsPattern", "status"): "v1.ConditionStatus",
    ("PodFailurePolicyOnPodConditionsPattern", "type"): "v1.PodConditionType",
    ("PodFailurePolicyRule", "action"): "v1.PodFailurePolicyAction",
    ("PodSpec", "dnsPolicy"): "v1.DNSPolicy",
    ("PodSpec", "preemptionPolicy"): "v1.PreemptionPolicy",
    ("PodSpec", "restartPolicy"): "v1.RestartPolicy",
    ("PodStatus", "phase"): "v1.PodPhase",
    ("PodStatus", "qosClass"): "v1.PodQOSClass",
    ("PriorityClass", "preemptionPolicy"): "v1.PreemptionPolicy",
    ("Taint", "effect"): "v1.TaintEffect",
    ("Toleration", "effect"): "v1.TaintEffect",
    ("Toleration", "operator"): "v1.TolerationOperator",
    ("TopologySpreadConstraint", "whenUnsatisfiable"): "v1.UnsatisfiableConstraintAction",
}


class DecodingError(ValueError):
    """A document is no object of its kind: what its refusal says after naming the kind."""

    def after_merge(self) -> str:
        """Return what is said of it when a strategic merge patch has made the document."""
        return str(self)


class _TypeDecodingError(DecodingError):
    """A value has a type that its field has not; the place is told by whoever passes it on."""

    def __init__(self, value: Any, wanted: str) -> None:
        self.value = value
        self.wanted = wanted
        self.struct = ""
        self.path: list[str] = []

    def __str__(self) -> str:
        given = json_type(self.value)
        place = f"struct field {self.struct}.{'.'.join(self.path)}" if self.path else "value"
        return f"json: cannot unmarshal {given} into Go {place} of type {self.wanted}"

    def after_merge(self) -> str:
        given = {"object": "map", "array": "slice"}.get(json_type(self.value))
        if given and self.wanted.startswith("[]"):
            return f"cannot restore slice from {given}"
        if given and self.wanted.startswith("map["):
            return f"cannot restore map from {given}"
        return super().after_merge()


class _NumberDecodingError(_TypeDecodingError):
    """A number that its type doesn't hold: the message shows it."""

    def __str__(self) -> str:
        return super().__str__().replace("number", f"number {self.value}", 1)


def decode(schema: Schema, obj: Any) -> list[str]:
    """
    Decode `obj` in place and return the paths of its unknown fields, as in "spec.containers[0].x".

    The paths come in the order of the document, of nested unknown fields the outermost only.
    Raises DecodingError.
    """
    unknown: list[str] = []
    compiled(schema)(obj, unknown)
    return [path.removeprefix(".") for path in unknown] if unknown else unknown


def compiled(schema: Schema) -> _Decode:
    """Return what decodes a value of `schema`, which is that of a built-in type."""
    if _COMPILED not in schema.compiled:
        _compile(schema)
    compiled: _Decode = schema.compiled[_COMPILED]
    return compiled


def _compile(schema: Schema, text: str = "string") -> None:
    """Compile a node; `text` is what the type of its strings is called."""
    type_name = _type_of(schema, text)
    if (special := _SPECIAL.get(type_name)) is not None:
        schema.compiled[_COMPILED] = special
    elif schema.type == "object" and schema.properties:
        _compile_struct(schema, type_name)
    elif schema.type == "object" and schema.additional is not None:
        schema.compiled[_COMPILED] = _map_decoder(schema.additional, type_name)
    elif schema.type == "array":
        schema.compiled[_COMPILED] = _list_decoder(schema, type_name)
    else:
        schema.compiled[_COMPILED] = _scalar_decoder(schema, type_name)


def _type_of(schema: Schema, text: str) -> str:
    """Return what a server calls the type of a schema's values."""
    if schema.name:
        return ".".join(schema.name.rsplit(".", 2)[1:])
    match schema.type:
        case "string":
            return text
        case "boolean":
            return "bool"
        case "integer":
            return f"int{_bits(schema)}"
        case "number":
            return "float64"
        case "array" if schema.items is not None:
            return f"[]{_type_of(schema.items, text)}"
        case "object" if schema.additional is not None:
            if schema.additional.name.endswith(".Quantity"):
                return "v1.ResourceList"
            return f"map[string]{_type_of(schema.additional, text)}"
        case _:
            return "interface {}"


def _bits(schema: Schema) -> int:
    return 32 if schema.raw.get("format") == "int32" else 64


def _decode_anything(value: Any, _unknown: list[str]) -> Any:
    return value


def _decode_quantity(value: Any, _unknown: list[str]) -> str:
    if value is None:
        return "0"
    try:
        # Numbers are quantities as well; of other values the text can only be wrong.
        return literals.quantity(value if value.__class__ is str else _text(value))
    except ValueError as error:
        raise DecodingError(str(error)) from error


def _text(value: Any) -> str:
    if value.__class__ is float:
        return f"{value:f}".rstrip("0").rstrip(".") if abs(value) < 2**53 else repr(value)
    return str(value)


def _time_decoder(*, micro: bool) -> _Decode:
    def decode_time(value: Any, _unknown: list[str]) -> str | None:
        if value.__class__ is not str:
            if value is None:
                return None
            raise _TypeDecodingError(value, "string")
        try:
            return literals.time(value, micro=micro)
        except ValueError as error:
            raise DecodingError(str(error)) from error

    return decode_time


def _decode_int_or_string(value: Any, unknown: list[str]) -> Any:
    if value.__class__ is str:
        return value
    return _decode_int32(value, unknown)


def _decode_bytes(value: Any, _unknown: list[str]) -> str:
    if value.__class__ is not str:
        if value is None:
            return ""
        raise _TypeDecodingError(value, "[]uint8")
    try:
        return literals.base64(value)
    except ValueError as error:
        raise DecodingError(str(error)) from error


def _scalar_decoder(schema: Schema, type_name: str) -> _Decode:
    if schema.type == "integer":
        return _integer_decoder(_bits(schema))
    if schema.type == "string" and schema.raw.get("format") == "byte":
        return _decode_bytes
    if schema.type not in _TYPES:
        return _decode_anything
    types = _TYPES[schema.type]
    zero = types[0]()

    def decode_scalar(value: Any, _unknown: list[str]) -> Any:
        if value.__class__ not in types:
            if value is None:
                return zero
            raise _TypeDecodingError(value, type_name)
        return value

    return decode_scalar


def _integer_decoder(bits: int) -> _Decode:
    least, most, type_name = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1, f"int{bits}"

    def decode_integer(value: Any, _unknown: list[str]) -> Any:
        if value.__class__ is not int:
            if value is None:
                return 0
            if value.__class__ is float:
                raise _NumberDecodingError(value, type_name)
            raise _TypeDecodingError(value, type_name)
        if not least <= value <= most:
            raise _NumberDecodingError(value, type_name)
        return value

    return decode_integer


_decode_int32: Final = _integer_decoder(32)

_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "boolean": (bool,),
    "number": (int, float),
}
_SPECIAL: Final[Mapping[str, _Decode]] = {
    "resource.Quantity": _decode_quantity,
    "v1.Time": _time_decoder(micro=False),
    "v1.MicroTime": _time_decoder(micro=True),
    "intstr.IntOrString": _decode_int_or_string,
}


def _list_decoder(schema: Schema, type_name: str) -> _Decode:
    assert schema.items is not None
    decode_item = compiled(schema.items)
    null = _zero_of(schema.items)

    def decode_list(value: Any, unknown: list[str]) -> Any:
        if value.__class__ is not list:
            if value is None:
                return None
            raise _TypeDecodingError(value, type_name)
        known = len(unknown)
        for index, item in enumerate(value):
            decoded = decode_item(null() if item is None else item, unknown)
            if decoded is not item:
                value[index] = decoded
            if len(unknown) != known:
                known = prefix(unknown, known, f"[{index}]")
        return value

    return decode_list


def _map_decoder(values: Schema, type_name: str) -> _Decode:
    decode_value = compiled(values)
    null = _zero_of(values)

    def decode_map(obj: Any, unknown: list[str]) -> Any:
        if obj.__class__ is not dict:
            if obj is None:
                return None
            raise _TypeDecodingError(obj, type_name)
        known = len(unknown)
        for name, value in obj.items():
            decoded = decode_value(null() if value is None else value, unknown)
            if decoded is not value:
                obj[name] = decoded
            if len(unknown) != known:
                known = prefix(unknown, known, f".{name}")
        return obj

    return decode_map


def _zero_of(schema: Schema) -> Callable[[], Any]:
    """Return what makes the value that null stands for in lists and maps."""
    return dict if schema.properties else lambda: None


def _compile_struct(schema: Schema, type_name: str) -> None:
    fields: dict[str, tuple[_Decode, bool]] = {}
    # Types contain themselves: this one is known before its fields are.
    schema.compiled[_COMPILED] = _struct_decoder(
        fields, type_name, closed=not schema.preserves_unknown
    )
    struct = type_name.rsplit(".", 1)[-1]
    required = schema.raw.get("required") or ()
    for name, child in schema.properties.items():
        text = _NAMED_TEXTS.get((struct, name))
        if text and not child.name and _COMPILED not in child.compiled:
            _compile_text(child, text)
        collection = child.type == "array" or child.additional is not None
        if "JSONSchemaPropsOr" in child.name:
            child.compiled[_COMPILED] = _schema_decoder(compiled(schema), child.name)
        fields[name] = compiled(child), not collection or name in required


def _struct_decoder(  # noqa: C901 - one loop that every write of a built-in kind takes
    fields: Mapping[str, tuple[_Decode, bool]], type_name: str, *, closed: bool
) -> _Decode:
    """
    Return what decodes an object with these fields.

    With each field stands whether it is kept when it is empty: lists and maps are if required.
    """
    struct = type_name.rsplit(".", 1)[-1]

    def decode_struct(obj: Any, unknown: list[str]) -> Any:
        if obj.__class__ is not dict:
            raise _TypeDecodingError(obj, type_name)
        known = len(unknown)
        dropped: list[str] = []
        name = ""
        try:
            for name, value in obj.items():
                field = fields.get(name)
                if field is None:
                    if closed:
                        dropped.append(name)
                        unknown.append(f".{name}")
                        known += 1
                    continue
                decoded = None if value is None else field[0](value, unknown)
                if decoded is None or not (field[1] or decoded):
                    dropped.append(name)
                elif decoded is not value:
                    obj[name] = decoded
                if len(unknown) != known:
                    known = prefix(unknown, known, f".{name}")
        except _TypeDecodingError as error:
            error.struct = error.struct or struct
            error.path[:0] = _named(struct, name)
            raise
        for name in dropped:
            del obj[name]
        return obj

    return decode_struct


def _compile_text(schema: Schema, text: str) -> None:
    if schema.items is not None:
        _compile(schema.items, text)
    _compile(schema, text)


def _schema_decoder(decode_schema: _Decode, name: str) -> _Decode:
    """Return what decodes a schema in a definition, or what may stand there instead of one."""
    instead = bool if name.endswith("Bool") else list
    expected = "boolean" if name.endswith("Bool") else "array"

    def decode_or_instead(value: Any, unknown: list[str]) -> Any:
        if value.__class__ is dict and not name.endswith("StringArray"):
            return decode_schema(value, unknown)
        if value.__class__ is not instead:
            raise DecodingError(f"{expected} or JSON schema expected")
        return value

    return decode_or_instead


def _named(struct: str, name: str) -> list[str]:
    """Return a field's path in messages, which name the structs that stand in others."""
    inline = _INLINE.get((struct, name))
    if inline is None and struct in _INLINE_ALL_BUT:
        inline, own = _INLINE_ALL_BUT[struct]
        if name in own:
            inline = None
    return [inline, name] if inline else [name]


def prefix(paths: list[str], since: int, step: str) -> int:
    """Put a step before the paths from `since` on, and return how many paths there are."""
    for index in range(since, len(paths)):
        paths[index] = step + paths[index]
    return len(paths)
