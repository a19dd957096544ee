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

RESULTS := docs/results

.PHONY: demo test lint format bench results coverage clean

demo: $(STAMPS)/demo
	$(BIN)/gapmin demo

test: $(STAMPS)/test
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(PYTEST_ARGS)

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

# Every table and figure, with the splits and epochs that two cores manage in about four hours. Finished cells are kept in
# $(RESULTS)/results.parquet: delete it to run them all anew, or leave it to write the files again from what is there.
results: $(STAMPS)/reproduce
	$(BIN)/gapmin reproduce table1 table2 table3 figure1 figure2 figure3 --out $(RESULTS)
	$(BIN)/gapmin reproduce table4 figure4 --splits 2 --epochs 8 --out $(RESULTS)
	$(BIN)/gapmin reproduce table5 table8 --splits 3 --epochs 40 --out $(RESULTS)
	$(BIN)/gapmin reproduce figure5 --splits 3 --out $(RESULTS)

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# A stamp per extra, renewed when what it was made from changes, so that a second run starts at once.
$(STAMPS)/%: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) --editable ".[$*]"
	@mkdir -p $(STAMPS) && touch $@

clean:
	rm -rf $(VENV) build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
