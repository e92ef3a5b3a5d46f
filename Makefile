# The main commands are `make demo` and `make test`. Each installs what it needs into .venv and can safely be repeated.
# On a machine without an NVIDIA GPU, this saves 2 GB of downloads:
#   PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu make demo

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= $(shell for p in python3.11 python3 python3.12 python3.13; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
READY := $(VENV)/.ready
PIP_INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
DEMO := demo
DATA ?= examples/mlqe-pe.en-de
RUNS ?= runs
TEXTS ?= data
WORK ?= runs/help
MODEL ?= runs/help-end/model
TORCH := torch==2.13.0
# One process per core, with one thread each: tiny models gain nothing from more. Docker images often disable bytecode
# files; without them, each worker and each command that a test starts would compile all modules again.
PYTEST = OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n auto --dist worksteal

.PHONY: help setup demo releases demo-train test test-slow test-all faults lint types imports format docs docs-serve gpu-bundle papers-tables clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## (.*)/  make \1\t\2/' | expand -t 22

setup: $(READY) ## Create .venv with the pinned versions in constraints.txt, developer tools included

# What postedit itself needs, without developer tools: enough for the demo.
$(INSTALLED): pyproject.toml constraints.txt
	@if [ -z "$(PYTHON)" ]; then \
		echo "postedit needs Python 3.11 or later; on Debian: apt-get install python3 python3-venv" >&2; exit 1; fi
	@if ! $(BIN)/python -m pip --version >/dev/null 2>&1; then \
		rm -rf $(VENV); \
		if $(PYTHON) -c 'import ensurepip' 2>/dev/null; then $(PYTHON) -m venv $(VENV); \
		elif $(PYTHON) -m pip --version >/dev/null 2>&1; then \
			$(PYTHON) -m venv --without-pip $(VENV); $(PYTHON) -m pip --quiet --python $(BIN)/python install pip; \
		else echo "$(PYTHON) has neither venv nor pip; on Debian: apt-get install python3-venv" >&2; exit 1; fi; fi
	$(PIP_INSTALL) '$(TORCH)'
	$(PIP_INSTALL) -e .
	@touch $@

$(READY): $(INSTALLED)
	$(PIP_INSTALL) -e '.[dev]'
	@touch $@

demo: $(INSTALLED) ## Correct machine translations that the models have not seen, score them, show what was done and why
	POSTEDIT_MODELS=$(DEMO)/models $(BIN)/postedit models fetch en-es --from releases
	POSTEDIT_MODELS=$(DEMO)/models $(BIN)/postedit demo

releases: $(READY) ## Pack a model for product help (MODEL, DATA, WORK, ARGS: see benchmarks/releases.py)
	$(BIN)/python benchmarks/releases.py $(MODEL) $(DATA) $(WORK) $(ARGS)

demo-train: $(INSTALLED) ## Like demo, but first train a model, which takes four minutes
	$(BIN)/postedit demo --train recipes/demo.toml --test examples/mlqe-pe.en-de/test --out demo-train

test: $(READY) ## Run the quick tests (minutes)
	$(PYTEST) -m "not slow and not faults" $(ARGS)

test-slow: $(READY) ## Run the tests marked slow
	$(PYTEST) -m "slow and not faults" $(ARGS)

faults: $(READY) ## Kill commands at many moments, starve them of resources, and feed them harmful input (hours)
	$(PYTEST) -m "faults or slow" tests/faults tests/hostile tests/unit/distributed tests/unit/serve tests/unit/llm $(ARGS)

test-all: test test-slow ## Run all tests

lint: $(READY) ## Check style and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY) ## Check types
	$(BIN)/mypy

imports: $(READY) ## Check that imports go only down the layers
	$(BIN)/lint-imports

format: $(READY) ## Fix style and format where that is safe
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(READY) ## Build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

docs-serve: $(READY) ## Show the documentation at http://127.0.0.1:8000
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

gpu-bundle: $(READY) ## Pack the triplets in DATA for benchmarks/gpu.sh, or with ARGS="--recipe FILE" the corpora
	$(BIN)/python benchmarks/gpu_bundle.py $(DATA) $(ARGS)

papers-tables: $(READY) ## Write papers-tables.md: the papers' tables with the figures of RUNS/TASK/NAME on TEXTS/TASK
	$(BIN)/python benchmarks/papers_tables.py $(RUNS) $(TEXTS) $(ARGS)

clean: ## Remove what the commands above made, including .venv
	rm -rf $(VENV) site $(DEMO) demo-train gpu-bundle .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
