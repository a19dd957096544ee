"""The schema of a file, read as a language with few words: what is not one of them is refused before skops sees it."""

from __future__ import annotations

import importlib
import inspect
import io
import json
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gapmin._utils.text import one_line
from gapmin.saved import _compiled, _types
from gapmin.saved._archive import BROKEN, ContentError, need
from gapmin.saved._arrays import check_array
from gapmin.saved._settings import check_items, setting_text

Node = dict[str, Any]

Settings = Mapping[str, frozenset[str]]
"""Of a class, the values that each constructor parameter may have, as `setting_text` writes them."""


MOST_JOBS = max(64, os.cpu_count() or 1)
"""How many processes or threads a model from a file may ask for."""


class SchemaChecker:
    """Check a schema and the arrays that it asks for.

    Parameters
    ----------
    root : dict
        The schema, parsed.
    read : callable
        Returns the bytes of a member.
    learner : mapping of str to Settings, optional
        Classes that may stand in the file as plain objects, beside those on the list: see `learner_types`.
    kind : {"model", "dictionary"}, default="model"
        What the schema must be of: an estimator on the list, or a dictionary with text for keys.
    """

    def __init__(
        self,
        root: Any,
        read: Callable[[str], bytes],
        *,
        learner: Mapping[str, Settings] | None = None,
        kind: str = "model",
    ) -> None:
        self._read = read
        self._learner = learner or {}
        self._seen: dict[int, Node] = {}
        self._checked_trees: set[tuple[int, Any, Any]] = set()
        self._owner: dict[str, int] = {}
        self._decoded: dict[int, Any] = {}
        if not isinstance(root, dict):
            raise ContentError(BROKEN)
        node = {name: value for name, value in root.items() if name not in ("protocol", "_skops_version")}
        try:
            if kind == "dictionary":
                self._expect(node, "DictNode", "builtins.dict")
            elif self._name(node) not in _types.ESTIMATORS:
                self._check_type(node)
                raise ContentError(f"it holds {one_line(self._name(node))}, which is no estimator")
            self.check(node)
        except RecursionError as error:
            raise ContentError("its parts are nested too deep") from error

    @property
    def files(self) -> set[str]:
        """The members that the schema asks for."""
        return set(self._owner)

    def check(self, node: Any) -> None:
        """Check a node and everything below it."""
        self._check_type(node)
        if not self._is_new(node):
            return
        loader = node["__loader__"]
        if loader == "JsonNode":
            self._check_scalar(node)
        elif loader == "NdArrayNode":
            self._check_array(node)
        elif loader in ("ListNode", "TupleNode"):
            self._check_all(node["content"])
        elif loader == "DictNode":
            self._check_dictionary(node)
        elif loader == "DTypeNode":
            self._check_as(node["content"], "NdArrayNode", "numpy.ndarray")
        elif loader == "SliceNode":
            content = node["content"]
            plain = isinstance(content, dict) and all(each is None or type(each) is int for each in content.values())
            need(plain and set(content) == {"start", "stop", "step"})
        elif loader == "ObjectNode":
            self._check_object(node)
        elif loader == "LossNode":
            self._check_loss(node)
        elif loader == "RandomStateNode":
            self._check_as(node["content"], "DictNode")
            _compiled.check_random_state(self.decode(node["content"]))
        elif loader == "RandomGeneratorNode":
            need(isinstance(node["content"], dict) and set(node["content"]) == {"bit_generator", "seed_seq"})
            bits, seeds = node["content"]["bit_generator"], node["content"]["seed_seq"]
            for part in (bits, seeds):
                self._check_as(part, "DictNode")
            _compiled.check_random_generator(self.decode(bits), self.decode(seeds))

    @staticmethod
    def _name(node: Any) -> str:
        plain = isinstance(node, dict) and all(
            isinstance(node.get(field), str) for field in ("__class__", "__module__", "__loader__")
        )
        need(plain)
        return f"{node['__module__']}.{node['__class__']}"

    def _check_type(self, node: Any, also: dict[str, str] | None = None) -> None:
        """Refuse every type that is not on the list, by name, and every field that skops does not write."""
        name = self._name(node)
        loader = node["__loader__"]
        known = name in _types.ALLOWED.get(loader, ()) or (also or {}).get(loader) == name
        if not known and not (loader == "ObjectNode" and name in self._learner):
            raise ContentError(
                f"it holds the type {one_line(name)} (as {one_line(loader)}), which is not among those gapmin restores"
            )
        fields = set(node) - {"__class__", "__module__", "__loader__", "__id__"}
        if loader == "NdArrayNode":
            need(fields == ({"type", "file"} if node.get("type") == "numpy" else {"type", "content", "shape"}))
        else:
            need(fields == _types.NODE_FIELDS.get(loader, {"content"}))

    def _is_new(self, node: Node) -> bool:
        """Whether this object was not met before; one that was must be the same, for skops would take the first."""
        identity = node.get("__id__")
        if type(identity) is not int or identity < 1:
            raise ContentError(BROKEN)
        if identity in self._seen:
            need(self._seen[identity] == node)
            return False
        self._seen[identity] = node
        return True

    def _expect(self, node: Any, loader: str, name: str | None = None) -> None:
        found = self._name(node)
        need(node["__loader__"] == loader and name in (None, found))

    def _check_as(self, node: Any, loader: str, name: str | None = None) -> None:
        self._expect(node, loader, name)
        self.check(node)

    def _new_list(self, node: Any) -> list[Any]:
        """Return the content of a list that was not met before."""
        self._expect(node, "ListNode", "builtins.list")
        self._check_type(node)
        need(self._is_new(node) and isinstance(node["content"], list))
        return node["content"]

    def _check_all(self, nodes: Any) -> None:
        need(isinstance(nodes, list))
        for each in nodes:
            self.check(each)

    def _check_scalar(self, node: Node) -> None:
        need(isinstance(node["content"], str) and node["is_json"] is True)
        try:
            value = json.loads(node["content"])
        except ValueError:
            raise ContentError(BROKEN) from None
        need(value is None or isinstance(value, bool | int | float | str))

    def _check_dictionary(self, node: Node) -> None:
        self._check_keys(node, _types.KEYS)
        for each in node["content"].values():
            self.check(each)

    def _check_keys(self, node: Node, allowed: tuple[str, ...]) -> None:
        content, kinds = node["content"], node["key_types"]
        need(isinstance(content, dict))
        self._check_as(kinds, "ListNode")
        need(len(kinds["content"]) == len(content))
        for kind in kinds["content"]:
            if kind["__loader__"] != "TypeNode" or self._name(kind) not in allowed:
                raise ContentError(
                    f"a dictionary has a key of the type {one_line(self._name(kind))}, which would not come back "
                    "as it was",
                    "use keys that are text or numbers",
                )

    def _check_loss(self, node: Node) -> None:
        """A compiled loss is called with its arguments: numbers only."""
        need(isinstance(node["__reduce__"], dict) and set(node["__reduce__"]) == {"args"})
        arguments, state = node["__reduce__"]["args"], node["content"]
        self._check_as(arguments, "TupleNode")
        self.check(state)
        need(not state["content"] and state["__loader__"] in ("DictNode", "TupleNode"))
        need(all(isinstance(each, int | float) for each in self.decode(arguments)))

    def _check_object(self, node: Node) -> None:
        name, content = self._name(node), node["content"]
        self._check_type(content)
        if content["__loader__"] == "JsonNode":
            self.check(content)
            need(content["content"] == "null")  # an object without attributes
            return
        self._expect(content, "DictNode")
        need(self._is_new(content))
        self._check_keys(content, ("builtins.str",))
        attributes = content["content"]
        for key, remedy in _types.MUST_BE_NONE.get(name, {}).items():
            there = attributes.get(key, {"content": "null"})
            if not isinstance(there, dict) or there.get("content") != "null":
                kind = one_line(self._name(there))
                raise ContentError(f"{node['__class__']} has {key} set ({kind}), which gapmin does not restore", remedy)
        if "n_jobs" in attributes and name not in self._learner:
            self._check_jobs(name, attributes["n_jobs"])
        cls = getattr(importlib.import_module(node["__module__"]), node["__class__"])
        for key, value in attributes.items():
            _check_hides_nothing(cls, key)
            if key == "tree_" and name in _types.TREE_ESTIMATORS:
                self._check_tree(value, attributes)
            elif key == "_predictors" and name in _types.HISTOGRAM_ESTIMATORS:
                self._check_predictors(value)
            else:
                self.check(value)
        if name in self._learner:
            self._check_settings(name, attributes)
        if name in _types.STAGED_ESTIMATORS and "estimators_" in attributes:
            self._check_stages(attributes)
        elif name in _compiled.FITTED_CHECKS:
            _compiled.FITTED_CHECKS[name](self._decode_attributes(attributes))

    def _check_jobs(self, name: str, node: Any) -> None:
        """Refuse a number of processes that would bring a machine down: scikit-learn starts them all on predicting."""
        self.check(node)
        n_jobs = self.decode(node)
        if n_jobs is not None and not (type(n_jobs) is int and n_jobs <= MOST_JOBS):
            raise ContentError(
                f"{one_line(name)} has n_jobs={one_line(n_jobs)}, more than {MOST_JOBS}", "use n_jobs=None"
            )

    def _check_settings(self, name: str, attributes: Node) -> None:
        """A class that is not on the list has the settings of the user's own learner; only seeds may be others."""
        for parameter, values in self._learner[name].items():
            node = attributes.get(parameter)
            if node is None:
                continue
            if parameter == "random_state" and node["__loader__"] == "JsonNode":
                seed = self.decode(node)
                need(seed is None or type(seed) is int)
                continue
            own = setting_text(node, self._read)
            if own not in values:
                raise ContentError(f"{one_line(name)} has {parameter}={one_line(own)}, which the learner here has not")

    def _check_tree(self, node: Any, owner: Node) -> None:
        self._check_type(node, also={"TreeNode": _types.TREE})
        need(node["__loader__"] == "TreeNode" and isinstance(node["__reduce__"], dict))
        need(set(node["__reduce__"]) == {"args"})
        if self._is_new(node):
            self._check_type(node["__reduce__"]["args"])
            self._check_type(node["content"])
            self._check_parts(node["__reduce__"]["args"], node["content"])
        size = [self._decode_count(owner.get(key)) for key in ("n_features_in_", "n_outputs_")]
        if (node["__id__"], *size) not in self._checked_trees:  # several estimators may share one tree
            arguments, state = self.decode(node["__reduce__"]["args"]), self.decode(node["content"])
            _compiled.check_tree(arguments, state, *size)
            self._checked_trees.add((node["__id__"], *size))

    def _decode_count(self, node: Any) -> int | None:
        """Return a whole number, which may not have been checked yet; None for everything else."""
        if not isinstance(node, dict) or node.get("__loader__") != "JsonNode":
            return None
        self.check(node)
        value = self.decode(node)
        return value if type(value) is int else None

    def _check_parts(self, *nodes: Node) -> None:
        """Check what holds arrays of nodes, which elsewhere are refused."""
        for node in nodes:
            content = node["content"]
            need(self._is_new(node) and node["__loader__"] in ("TupleNode", "DictNode"))
            if node["__loader__"] == "DictNode":
                self._check_keys(node, ("builtins.str",))
            else:
                need(isinstance(content, list))
            for each in content.values() if isinstance(content, dict) else content:
                self._check_type(each)
                if each["__loader__"] == "NdArrayNode":
                    if self._is_new(each):
                        self._check_array(each, records=True)
                else:
                    self.check(each)

    def _check_predictors(self, node: Any) -> None:
        """Check a list, for each round, of lists of trees."""
        for one_round in self._new_list(node):
            for tree in self._new_list(one_round):
                self._check_type(tree, also={"ObjectNode": _types.PREDICTOR})
                self._expect(tree, "ObjectNode", _types.PREDICTOR)
                need(self._is_new(tree))
                self._check_type(tree["content"])
                self._check_parts(tree["content"])
                names = set(tree["content"]["content"])
                need(names == {"nodes", "raw_left_cat_bitsets", "binned_left_cat_bitsets"})

    def _check_stages(self, owner: Node) -> None:
        """Check that gradient boosting has in each stage as many trees as compiled code will find columns for."""
        need(all(key in owner for key in ("n_features_in_", "_loss", "init_")))
        stages = owner["estimators_"]
        self._expect(stages, "NdArrayNode", "numpy.ndarray")
        need(stages["type"] == "json")
        n_features = self.decode(owner["n_features_in_"])
        n_trees = _compiled.trees_of_a_stage(
            self._name(owner["_loss"]),
            self.decode(owner["_loss"]),
            self._name(owner["init_"]),
            self.decode(owner["init_"]),
        )
        need(self.decode(stages["shape"]) == [len(stages["content"]), n_trees])
        for stage in stages["content"]:
            self._expect(stage, "ListNode", "builtins.list")
            need(len(stage["content"]) == n_trees)
            for tree in stage["content"]:
                self._expect(tree, "ObjectNode", "sklearn.tree._classes.DecisionTreeRegressor")
                own = tree["content"]["content"]
                need(isinstance(own, dict) and {"tree_", "n_features_in_"} <= set(own))
                need(self.decode(own["n_features_in_"]) == n_features)

    def _check_array(self, node: Node, *, records: bool = False) -> None:
        """Check that an array is plain values, as many as the file has bytes for."""
        name = self._name(node)
        if node["type"] == "json":
            need(name == "numpy.ndarray")
            self._check_all(node["content"])
            self._check_as(node["shape"], "TupleNode")
            shape = self.decode(node["shape"])
            need(len(shape) > 0 and all(type(each) is int for each in shape))
            check_items(node["content"], shape)
            return
        need(node["type"] == "numpy" and isinstance(node["file"], str))
        # skops reads a member for every array that names it: one small file could fill the memory.
        need(self._owner.setdefault(node["file"], node["__id__"]) == node["__id__"])
        dtype, shape = check_array(self._read(node["file"]), node["file"], records=records)
        if name != "numpy.ndarray":
            wanted = np.dtype(getattr(np, node["__class__"]))
            need(shape == () and (dtype == wanted or dtype.kind == wanted.kind == "U"))

    def decode(self, node: Node) -> Any:
        """Return the value of a checked node: plain values, arrays, lists, dictionaries; of others their attributes.

        A node that is met again is not decoded again: a file may name one large array a million times.
        """
        identity = node["__id__"]
        if identity not in self._decoded:
            self._decoded[identity] = self._decode(node)
        return self._decoded[identity]

    def _decode(self, node: Node) -> Any:
        loader = node["__loader__"]
        if loader == "JsonNode":
            return json.loads(node["content"])
        if loader in ("ListNode", "TupleNode"):
            return [self.decode(each) for each in node["content"]]
        if loader == "DictNode":
            return self._decode_attributes(node["content"])
        if loader == "ObjectNode":
            return self.decode(node["content"])
        if loader == "NdArrayNode" and node["type"] == "numpy":
            found = np.load(io.BytesIO(self._read(node["file"])), allow_pickle=False)
            return found if node["__class__"] == "ndarray" else found[()]
        if loader == "NdArrayNode":
            items = np.empty(len(node["content"]), dtype=object)
            items[:] = [self.decode(each) for each in node["content"]]
            return items
        return node

    def _decode_attributes(self, content: dict[str, Node]) -> dict[str, Any]:
        return {key: self.decode(value) for key, value in content.items()}


def _check_hides_nothing(cls: type, key: str) -> None:
    """An attribute that hides a method would take its checks away."""
    there = inspect.getattr_static(cls, key, None)
    if key.startswith("__") or callable(there) or hasattr(type(there), "__get__"):
        raise ContentError(f"{cls.__name__} has an attribute {one_line(key)!r} that is not data")
