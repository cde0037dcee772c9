# Every target sets up what it needs: a machine with python3 (3.11 or newer) and make is enough.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: install test lint types tests bench-planner clean

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "goalward needs Python 3.11 or newer; set PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $(STAMP)

test: lint types tests

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: install
	$(BIN)/mypy

tests: install
	$(BIN)/pytest --cov --cov-report=term --numprocesses=auto

bench-planner: install
	$(PYTHON) benchmarks/planner.py --setup
	$(BIN)/python benchmarks/planner.py

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
