# Every target sets up what it needs: a machine with python3 (3.11 or newer) and make is enough.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
DEV_STAMP := .venv/.dev-installed
BUILD_STAMP := .venv-build/.installed
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
PEERS_STAMP := .venv-peers/.installed
LOWEST_STAMP := .venv-lowest/.installed
DOCS_STAMP := .venv/.docs-installed

.PHONY: attack dev docs install reproduce test lint types tests test-lowest dist release-check bench \
	bench-planner bench-learning bench-sizes bench-rivals bench-experiments bench-startup bench-pages bench-continuous \
	bench-ablation bench-instance bench-load bench-real clean

# goalward and Gymnasium, and nothing of what tests need.
install: $(STAMP)

# What tests, linters and type checks need; every target that needs it asks for it.
dev: $(DEV_STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "goalward needs Python 3.11 or newer; set PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv .venv
	$(PIP) --editable '.[gymnasium]'
	touch $(STAMP)

$(DEV_STAMP): $(STAMP)
	$(PIP) --editable '.[dev]'
	touch $(DEV_STAMP)

# ARGS="--regime tuned --runs 3" changes what is made; see: goalward reproduce --help.
reproduce: install
	$(BIN)/goalward reproduce $(ARGS)

test: lint types tests

lint: dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell

types: dev
	$(BIN)/mypy

# The tests of the pages need a browser (Debian: apt-get install chromium); without one they are skipped.
# Kernels are compiled once, into a folder of the tests' own, instead of in every worker.
tests: export GOALWARD_CACHE_DIR := $(CURDIR)/.kernels
tests: export GOALWARD_KERNEL_RECORD := $(CURDIR)/.kernels/record.json
tests: dev
	rm -rf .kernels
	$(BIN)/python -W error tests/compile_kernels.py .kernels/record.json
	$(BIN)/pytest --cov --cov-report=term --numprocesses=auto --dist=worksteal

# The oldest versions that pyproject.toml allows. Not part of `make test`: run it when a lower bound changes.
# What these depend on is new, so they use things that have been deprecated since.
$(LOWEST_STAMP): pyproject.toml
	$(PYTHON) -m venv .venv-lowest
	$(PYTHON) -c 'import tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	    groups = [project["dependencies"], *project["optional-dependencies"].values()]; \
	    print(*[name.replace(">=", "==") for group in groups for name in group if ">=" in name], sep="\n")' \
	    > .venv-lowest/lowest.txt
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check --constraint .venv-lowest/lowest.txt \
	    --editable '.[test]'
	touch $(LOWEST_STAMP)

test-lowest: $(LOWEST_STAMP)
	.venv-lowest/bin/pytest -W ignore::DeprecationWarning --numprocesses=auto --dist=worksteal

# The pages in build/docs/index.html. Warnings and failing cells are errors.
$(DOCS_STAMP): $(STAMP)
	$(PIP) --editable '.[docs]'
	touch $(DOCS_STAMP)

docs: $(DOCS_STAMP)
	$(BIN)/python -m sphinx --builder html --fail-on-warning --keep-going docs build/docs

# A source archive and a wheel, in dist/, by an environment that holds nothing but the tool that builds them.
$(BUILD_STAMP): constraints.txt
	$(PYTHON) -m venv .venv-build
	.venv-build/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt build
	touch $(BUILD_STAMP)

dist: $(BUILD_STAMP)
	rm -rf dist
	.venv-build/bin/python -m build

# What a release must do: the wheel works in an empty environment, and the tests of the source archive pass there.
# RELEASE_TESTS="tests/ssp tests/planning" runs some of them only.
RELEASE := build/release
RELEASE_TESTS ?= tests
release-check: dist
	rm -rf $(RELEASE)
	$(PYTHON) -m venv $(RELEASE)/venv
	$(RELEASE)/venv/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt dist/*.whl
	cd $(RELEASE) && venv/bin/goalward --version && venv/bin/goalward reproduce --episodes 200 --runs 2 \
	    && venv/bin/python -m goalward.examples && venv/bin/goalward solve examples/roads.csv --start A --goal B \
	    && venv/bin/goalward run examples/my_study.toml
	tar --extract --gzip --strip-components=1 --one-top-level=$(RELEASE)/source --file dist/*.tar.gz
	$(RELEASE)/venv/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt \
	    "$$(ls dist/*.whl)[test]"
	cd $(RELEASE)/source && ../venv/bin/pytest --numprocesses=auto --dist=worksteal $(RELEASE_TESTS)

$(PEERS_STAMP): benchmarks/peers.txt
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check --requirement benchmarks/peers.txt
	touch $(PEERS_STAMP)

# Random hostile cases for ten minutes, with a table at the end; see docs/results/reliability.md.
ATTACK_MINUTES ?= 10
attack: dev
	$(BIN)/python tests/hostile/harness.py --minutes $(ATTACK_MINUTES)

# All tables of benchmarks/results; about half an hour on a quiet machine. LARGE=--large adds models of a million states.
bench: bench-planner bench-learning bench-sizes bench-rivals bench-experiments bench-startup bench-pages bench-continuous

# MODELS="g100 r1e5" measures only these, and writes no results; benchmarks/families.py lists them.
bench-planner: dev $(PEERS_STAMP)
	$(BIN)/python benchmarks/planner.py $(LARGE) $(MODELS)

# Loads and solves every UMB file of a folder beside Storm; the files need the label goal and one reward, cost.
bench-real: dev $(PEERS_STAMP)
	$(BIN)/python benchmarks/real.py $(FOLDER) $(ARGS)

# Loads UMB, DRN and CSV files of 10^5 to 8 * 10^6 transitions beside Storm.
bench-load: dev $(PEERS_STAMP)
	$(BIN)/python benchmarks/load.py $(ARGS)

# ARGS="short reading" measures only these parts of bench-experiments.
bench-learning bench-sizes bench-rivals bench-experiments bench-startup bench-pages bench-continuous bench-ablation: dev
	$(BIN)/python benchmarks/$(@:bench-%=%).py $(ARGS)

bench-instance: dev
	$(BIN)/python benchmarks/published_instance.py $(ARGS)

clean:
	rm -rf .venv .venv-build .venv-peers .venv-lowest .kernels dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
