# Everything a contributor needs. `make run` and `make test` work on a machine with Python 3.11 or later and make.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: help run test lint fmt bench bench-check clean

help:  ## Show the targets.
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

$(VENV)/.python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Waypost needs Python 3.11 or later")'
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.run: $(VENV)/.python requirements/build.txt requirements/run.txt pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements/build.txt -r requirements/run.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

$(VENV)/.dev: $(VENV)/.run requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements/dev.txt
	touch $@

run: $(VENV)/.run  ## Serve the example cluster on 127.0.0.1:1053.
	exec $(BIN)/waypost serve --example

test: $(VENV)/.dev  ## Run every test.
	$(BIN)/python -m pytest -n 2 --dist worksteal

lint: $(VENV)/.dev  ## Check style, types and the import contracts.
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

fmt: $(VENV)/.dev  ## Format the code.
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(VENV)/.dev  ## Measure what a query costs, as Markdown, about ten minutes; BENCH='--peer ...' (needs dnsperf).
	$(BIN)/python bench/run.py --markdown $(BENCH)
	$(BIN)/python bench/profile.py

bench-check: $(VENV)/.dev  ## Compare a query's cost with the recorded one, in half a minute (needs dnsperf and cc).
	$(BIN)/python bench/check.py

clean:  ## Remove the virtual environment and caches.
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
