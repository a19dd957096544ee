import json
from pathlib import Path

import pytest

from gapmin_support.comparisons import made_comparison

SCHEMA = json.loads(Path(__file__).parents[2].joinpath("docs", "compare-schema.json").read_text(encoding="utf-8"))
TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool}


def problems(value, schema, where="$"):
    """Return where a value is not as a schema says; knows the words that ours uses."""
    if "anyOf" in schema:
        each = [problems(value, one, where) for one in schema["anyOf"]]
        return [] if [] in each else min(each, key=len)
    if "const" in schema:
        return [] if value == schema["const"] else [f"{where}: {value!r}"]
    if "enum" in schema:
        return [] if value in schema["enum"] else [f"{where}: {value!r}"]
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(value is None if name == "null" else isinstance(value, TYPES[name]) for name in types):
        return [f"{where}: {value!r} is no {types}"]
    found = []
    if isinstance(value, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        found += [f"{where}.{name} is missing" for name in schema.get("required", ()) if name not in value]
        for name, inner in value.items():
            if name in known:
                found += problems(inner, known[name], f"{where}.{name}")
            elif isinstance(others, dict):
                found += problems(inner, others, f"{where}.{name}")
            elif not others:
                found.append(f"{where}.{name} is unknown")
    elif isinstance(value, list):
        found += [each for k, inner in enumerate(value) for each in problems(inner, schema["items"], f"{where}[{k}]")]
    return found


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("transfers", [True, False])
def test_json_is_as_the_schema_says(task, transfers):
    said = made_comparison(task, transfers=transfers).to_dict() | {"report": None}
    assert problems(said, SCHEMA) == []
    assert set(said) == set(SCHEMA["properties"])


def test_the_check_finds_what_is_wrong():
    said = made_comparison().to_dict() | {"report": None}
    assert problems(said | {"n_target": "many"}, SCHEMA)
    assert problems(said | {"verdict": "perhaps"}, SCHEMA)
    assert problems({key: value for key, value in said.items() if key != "scores"}, SCHEMA)
    assert problems(said | {"metric": {"name": "x"}}, SCHEMA)
