# Two commands matter: `make demo` and `make test`. Both work on a machine with Python 3.11+, make and a package registry.
PYTHON ?= python3
VENV := .venv
MIN := .venv-min
DIST := .venv-dist
WHEEL := .venv-wheel
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt
# Many small fits side by side: one BLAS thread each, or they fight over the cores.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
JOBS ?= auto

RESULTS := docs/results

# The parts that need no extra, and the two files of them whose examples do (POT).
CORE := _utils base boosting domains gap linear transfer
CORE_PATHS = $(foreach part,$(CORE),$(wildcard tests/$(part) tests/test_$(part).py src/gapmin/$(part) src/gapmin/$(part).py))
NOT_CORE := --ignore=src/gapmin/linear/discrepancy.py --ignore=src/gapmin/linear/wasserstein.py

.PHONY: demo test test-all test-min lint docs dist test-dist format bench results paper-map coverage clean

demo: $(STAMPS)/demo
	$(BIN)/gapmin demo

# One test of every promise; what takes long, or repeats a check with other settings, is marked slow.
test: $(STAMPS)/test
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "not slow" $(PYTEST_ARGS)

test-all: $(STAMPS)/test
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(PYTEST_ARGS)

# The core alone, on the oldest versions that pyproject.toml allows.
# Another Python: make test-min PYTHON=python3.13 MIN=.venv-min-3.13
test-min: $(MIN)/stamp
	$(MIN)/bin/python -m pytest -n $(JOBS) --dist worksteal $(CORE_PATHS) $(NOT_CORE) $(PYTEST_ARGS)

coverage: $(STAMPS)/test
	$(BIN)/python -m pytest -n $(JOBS) --cov=src/gapmin --cov-report=term-missing:skip-covered $(PYTEST_ARGS)

lint: $(STAMPS)/lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python tools/check_imports.py
	$(BIN)/python tools/check_names.py
	$(BIN)/python tools/count_code.py --check
	$(BIN)/python tools/draw_imports.py --check
	$(BIN)/python tools/map_paper.py --check
	$(BIN)/python tools/check_words.py
	$(BIN)/python tools/check_docstrings.py

# The site, in build/docs/html: every example is run, every warning is an error, nothing is loaded from a network.
docs: $(STAMPS)/docs
	$(BIN)/python -m doctest docs/_ext/drawn_graphs.py docs/_ext/math_as_mathml.py
	MPLBACKEND=agg $(BIN)/python -m sphinx --builder html --fail-on-warning --keep-going --quiet --doctree-dir build/docs/doctrees docs build/docs/html
	@echo "open build/docs/html/index.html"

# The wheel and the source distribution, in dist/, and what twine says of them (it wants another docutils than Sphinx).
dist: $(DIST)/stamp
	rm -rf dist
	$(DIST)/bin/python -m build --quiet
	$(DIST)/bin/python -m twine check --strict dist/*

# The wheel in an empty environment: the commands of the README print what it shows.
test-dist: dist
	rm -rf $(WHEEL)
	$(PYTHON) -m venv $(WHEEL)
	$(WHEEL)/bin/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt "$$(echo dist/*.whl)[cli,data]"
	$(WHEEL)/bin/python tools/renew_readme.py --check

format: $(STAMPS)/lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMPS)/test
	$(BIN)/python benchmarks/boosting_speed.py
	$(BIN)/python benchmarks/linear_speed.py

# Every table and figure by the small protocol: some twenty core-hours. Finished cells are kept in
# $(RESULTS)/results.parquet: delete it to run them all anew, or leave it to write the files again from what is there.
results: $(STAMPS)/reproduce
	$(BIN)/gapmin reproduce table1 table2 table3 figure1 figure2 figure3 --out $(RESULTS)
	$(BIN)/gapmin reproduce table4 figure4 --splits 2 --epochs 8 --out $(RESULTS)
	$(BIN)/gapmin reproduce table5 table6 table8 --out $(RESULTS)
	$(BIN)/gapmin reproduce figure5 --out $(RESULTS)

# From every statement and algorithm line of the paper to the code, with line numbers.
paper-map: $(VENV)/bin/python
	$(BIN)/python tools/map_paper.py --lines build/paper-map.md

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# A stamp per extra, renewed when what it was made from changes, so that a second run starts at once.
$(STAMPS)/%: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) --editable ".[$*]"
	@mkdir -p $(STAMPS) && touch $@

$(MIN)/stamp: pyproject.toml constraints-min.txt
	$(PYTHON) -m venv $(MIN)
	$(MIN)/bin/python -m pip --disable-pip-version-check install --quiet --constraint constraints-min.txt --editable ".[test-core]"
	@touch $@

$(DIST)/stamp: constraints-dist.txt
	$(PYTHON) -m venv $(DIST)
	$(DIST)/bin/python -m pip --disable-pip-version-check install --quiet --constraint constraints-dist.txt build twine
	@touch $@

clean:
	rm -rf $(VENV) $(MIN) $(DIST) $(WHEEL) build docs/gallery docs/measured docs/reference/api dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
