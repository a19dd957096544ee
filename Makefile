# Two commands matter: `make demo` and `make test`. Both work on a machine with Python 3.11+, make and a package registry.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt
# Many small fits side by side: one BLAS thread each, or they fight over the cores.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
JOBS ?= auto

.PHONY: demo test lint format bench coverage clean

demo: $(STAMPS)/demo
	$(BIN)/gapmin demo

test: $(STAMPS)/test
	$(BIN)/python -m pytest -n $(JOBS) $(PYTEST_ARGS)

coverage: $(STAMPS)/test
	$(BIN)/python -m pytest -n $(JOBS) --cov=src/gapmin --cov-report=term-missing:skip-covered $(PYTEST_ARGS)

lint: $(STAMPS)/lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMPS)/lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMPS)/test
	$(BIN)/python benchmarks/boosting_speed.py
	$(BIN)/python benchmarks/linear_speed.py

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# A stamp per extra, renewed when what it was made from changes, so that a second run starts at once.
$(STAMPS)/%: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) --editable ".[$*]"
	@mkdir -p $(STAMPS) && touch $@

clean:
	rm -rf $(VENV) build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
