"""A contract for import-linter: the private modules of each package are imported inside it only."""

from __future__ import annotations

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields
from importlinter.contracts.protected import ProtectedContract


class PrivateModulesContract(Contract):
    """import-linter's `protected` contract, for every private module (``_x``) there is, so that no list can go stale.

    ``gapmin._utils`` and ``gapmin._version`` are private to the whole of gapmin, and need no contract.

    Configuration options:
        - broken_contract_guidance: what to do about an import that is not allowed.
    """

    type_name = "private_modules"

    broken_contract_guidance = fields.TextField(required=False)

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        illegal = []
        for package, modules in _private_modules(graph).items():
            options = {"protected_modules": modules, "allowed_importers": [package]}
            check = ProtectedContract(self.name, self.session_options, options).check(graph, verbose)
            illegal += check.metadata["illegal_imports"]
        return ContractCheck(kept=not illegal, metadata={"illegal_imports": illegal})

    def render_broken_contract(self, check: ContractCheck) -> None:
        ProtectedContract.render_broken_contract(self, check)  # type: ignore[arg-type]


def _private_modules(graph: ImportGraph) -> dict[str, list[str]]:
    """Return the private modules by the package that holds them."""
    found: dict[str, list[str]] = {}
    for module in sorted(graph.modules):
        package, _, name = module.rpartition(".")
        if "." in package and name.startswith("_") and not name.startswith("__"):
            found.setdefault(package, []).append(module)
    return found
