"""Arguments of a call against the tool's schema: what is wrong, in words a model can act on (A-6)."""

import difflib
import json
from collections.abc import Iterator
from typing import Any

_MOST = 5
"""Faults that one sentence names."""
_KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}
Schema = dict[str, Any]


def check_arguments(arguments: dict[str, Any], schema: Schema) -> str:
    """What is wrong, as sentences that name each argument, what it is and what is expected; empty = nothing.

    ``schema`` is JSON Schema of an object. A name that the schema does not have is wrong where it says
    ``additionalProperties: false``, as JSON Schema has it.
    """
    faults = []
    for fault in _faults(arguments, schema, schema, ""):
        faults.append(fault)
        if len(faults) == _MOST:
            break
    return " ".join(faults)


def coerced(arguments: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """The arguments with values of the expected type where there is only one reading: ``"10"`` or ``10.0`` for an integer,
    ``"true"`` for a boolean, a JSON list or object that was written as text. All else stays as it is."""
    value = _fitted(arguments, schema, schema)
    return value if isinstance(value, dict) else arguments


# --- what is wrong ------------------------------------------------------------------------------------------------


def _faults(value: Any, schema: Schema, root: Schema, path: str) -> Iterator[str]:
    schema = _resolved(schema, root)
    name = f"`{path}`" if path else "the arguments"
    if options := schema.get("anyOf") or schema.get("oneOf"):
        if not any(next(_faults(value, one, root, path), None) is None for one in options):
            yield f"{name} must be {_expected(schema, root)}, not {_told(value)}."
        return
    if "const" in schema and value != schema["const"]:
        yield f"{name} must be {_json(schema['const'])}, not {_told(value)}."
    elif "enum" in schema and value not in schema["enum"]:
        yield f"{name} must be {_expected(schema, root)}, not {_told(value)}.{_near(value, schema['enum'])}"
    elif not _is(value, _kinds(schema)):
        yield f"{name} must be {_expected(schema, root)}, not {_told(value)}."
    elif isinstance(value, dict):
        yield from _object_faults(value, schema, root, path)
    elif isinstance(value, list):
        least, most = schema.get("minItems", 0), schema.get("maxItems")
        if len(value) < least or (most is not None and len(value) > most):
            yield f"{name} must have {_range(least, most)} entries, not {len(value)}."
        for index, one in enumerate(value):
            yield from _faults(one, schema.get("items") or {}, root, f"{path}[{index}]")
    elif isinstance(value, str):
        least, most = schema.get("minLength", 0), schema.get("maxLength")
        if len(value) < least or (most is not None and len(value) > most):
            yield f"{name} must have {_range(least, most)} characters, not {len(value)}."
    elif isinstance(value, int | float) and not isinstance(value, bool):
        least, most = schema.get("minimum"), schema.get("maximum")
        if (least is not None and value < least) or (most is not None and value > most):
            yield f"{name} must be {_range(least, most)}, not {value}."


def _object_faults(value: dict[str, Any], schema: Schema, root: Schema, path: str) -> Iterator[str]:
    known = schema.get("properties") or {}
    prefix = f"{path}." if path else ""
    strange = [name for name in value if name not in known]
    closed = schema.get("additionalProperties") is False
    for name in schema.get("required") or ():
        if name not in value:
            meant = difflib.get_close_matches(name, strange, n=1)
            instead = f" (`{prefix}{meant[0]}` was given)" if meant else ""
            yield f"`{prefix}{name}` is missing{instead}: it must be {_expected(known.get(name, {}), root)}."
    if closed:
        for name in strange:
            near = difflib.get_close_matches(name, [one for one in known if one not in value], n=1, cutoff=0.5)
            hint = f"did you mean `{prefix}{near[0]}`?" if near else f"known are {_names(known)}."
            yield f"There is no argument `{prefix}{name}`: {hint}"
    for name, one in value.items():
        if name in known:
            yield from _faults(one, known[name], root, f"{prefix}{name}")


def _resolved(schema: Any, root: Schema) -> Schema:
    """The schema behind a local reference; ``True`` and what cannot be resolved allow everything."""
    for _ in range(10):
        if not isinstance(schema, dict):
            return {}
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return schema
        place: Any = root
        for step in reference[2:].split("/"):
            place = place.get(step) if isinstance(place, dict) else None
        schema = place
    return {}


def _kinds(schema: Schema) -> tuple[str, ...]:
    kind = schema.get("type")
    return (kind,) if isinstance(kind, str) else tuple(kind or ())


def _is(value: Any, kinds: tuple[str, ...]) -> bool:
    return not kinds or any(_is_one(value, kind) for kind in kinds)


def _is_one(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _KINDS.get(kind, (object,)))


def _expected(schema: Schema, root: Schema) -> str:
    schema = _resolved(schema, root)
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(dict.fromkeys(_expected(one, root) for one in options))
    if "const" in schema:
        return _json(schema["const"])
    if "enum" in schema:
        return "one of " + ", ".join(_json(one) for one in schema["enum"])
    kinds = " or ".join(_kinds(schema)) or "any value"
    return f"{'an' if kinds[0] in 'aio' else 'a'} {kinds}" if kinds not in ("null", "any value") else kinds


def _told(value: Any) -> str:
    """The value, cut, with its type where that does not show."""
    text = _json(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _near(value: Any, allowed: list[Any]) -> str:
    near = difflib.get_close_matches(str(value), [str(one) for one in allowed], n=1)
    return f" Did you mean {_json(near[0])}?" if near else ""


def _names(known: Schema) -> str:
    return ", ".join(f"`{name}`" for name in known) or "none"


def _range(least: float | None, most: float | None) -> str:
    if most is None:
        return f"at least {least}"
    return f"at most {most}" if not least else f"from {least} to {most}"


# --- what is meant ------------------------------------------------------------------------------------------------


def _fitted(value: Any, schema: Schema, root: Schema) -> Any:
    schema = _resolved(schema, root)
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return _fitted_to_one(value, options, root)
    kinds = _kinds(schema)
    if isinstance(value, str) and not _is(value, kinds):
        value = _converted(value, kinds)
    if isinstance(value, float) and "integer" in kinds and "number" not in kinds and value.is_integer():
        value = int(value)
    if isinstance(value, dict):
        known = schema.get("properties") or {}
        return {name: _fitted(one, known[name], root) if name in known else one for name, one in value.items()}
    if isinstance(value, list):
        return [_fitted(one, schema.get("items") or {}, root) for one in value]
    return value


def _fitted_to_one(value: Any, options: list[Schema], root: Schema) -> Any:
    """Nothing to do where one option takes the value; else what fits after conversion, if only one does."""
    if any(next(_faults(value, one, root, ""), None) is None for one in options):
        return value
    fitting = []
    for one in options:
        fitted = _fitted(value, one, root)
        if next(_faults(fitted, one, root, ""), None) is None:
            fitting.append(fitted)
    return fitting[0] if len(fitting) == 1 else value


def _converted(text: str, kinds: tuple[str, ...]) -> Any:
    """The value that the text writes out, if it is of an expected type."""
    try:
        meant = json.loads(text.strip().lower() if kinds == ("boolean",) else text)
    except (ValueError, RecursionError):
        return text
    return meant if _is(meant, kinds) else text
