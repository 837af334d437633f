# Two commands do everything: `make run` (environment + main job) and `make test` (environment + every check).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: run test lint viz mlflow nightly clean

run: $(INSTALLED)
	$(BIN)/kedro run

test: $(INSTALLED) lint
	FEDTEXT_PROGRESS=0 $(BIN)/pytest -m "not slow and not network and not gpu" -q

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

nightly: $(INSTALLED) lint
	FEDTEXT_PROGRESS=0 $(BIN)/pytest -m "not network and not gpu" -q

viz: $(INSTALLED)
	$(BIN)/kedro viz run

mlflow: $(INSTALLED)
	$(BIN)/kedro mlflow ui

$(INSTALLED): constraints.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "fedtext needs Python 3.11 or newer; set PYTHON=")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch==2.13.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[offline,dev]'
	touch $@

clean:
	rm -rf data/0* build .mypy_cache .ruff_cache .pytest_cache
