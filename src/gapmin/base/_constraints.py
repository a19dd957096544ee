"""What parameters may be: declared by each class for its own, and known to it for all."""

from __future__ import annotations

from typing import Any, ClassVar


class InheritedConstraints:
    """Adds to the constraints that a class declares for its parameters those of its bases.

    Examples
    --------
    >>> class Parent(InheritedConstraints):
    ...     _parameter_constraints = {"lam": [float]}
    >>> class Child(Parent):
    ...     _parameter_constraints = {"eta": [float]}
    >>> list(Child._parameter_constraints)
    ['lam', 'eta']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        declared = [vars(base).get("_parameter_constraints", {}) for base in reversed(cls.__mro__)]
        cls._parameter_constraints = {name: allowed for each in declared for name, allowed in each.items()}
