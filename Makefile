# Everything for a fresh machine with Python 3.11+, git and make. `make demo` and `make test` set up on first use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
JOBS ?= 2
PEERS_PYTHON ?= python3.12

.PHONY: help demo test test-real-model check bench bench-peers coverage-of-design docs clean

help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 22

demo: $(READY) ## a long session passes through its windows: no key, no network
	@$(BIN)/sojourn demo

test: $(READY) ## all tests
	$(BIN)/pytest -n $(JOBS)

test-real-model: $(READY) ## our clients against a real server and a very small real model (220 MB, a minute to set up)
	@SOJOURN_REAL_MODEL=1 $(BIN)/pytest tests/models/test_real_server.py

check: $(READY) ## lint, format, types, import contracts, unused code and dependencies
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/deptry --ignore-notebooks .
	$(BIN)/vulture

bench: $(READY) ## speed and size as ratios measured in one run (QUICK=1: small sizes)
	@$(BIN)/python -m bench $(if $(QUICK),--quick)

# OpenHands needs Python 3.12; the folder ignores itself, so that no tool looks into it.
bench-peers: $(READY) ## the same work by real libraries beside ours (PEERS_PYTHON: 3.12 or newer; about 4 minutes to set up)
	@test -f .venv-peers/.ready || { $(PEERS_PYTHON) -m venv --clear .venv-peers && echo '*' > .venv-peers/.gitignore \
	  && .venv-peers/bin/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1' \
	  && .venv-peers/bin/python -m pip install --quiet --disable-pip-version-check --editable . --group peers \
	  && touch .venv-peers/.ready; }
	@$(BIN)/python -m bench peers $(if $(QUICK),--quick)

coverage-of-design: $(READY) ## which design items and public reports have no test
	@$(BIN)/python scripts/coverage_of_design.py

docs: $(READY) ## the pages that are made from the code
	$(BIN)/python scripts/generated_docs.py

clean: ## removes the virtual environment and caches
	rm -rf $(VENV) .venv-peers .venv-model .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

# The stamp is newer than pyproject.toml when the environment is as it says.
$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Sojourn needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Set PYTHON=python3.11 (or newer).")'
	@echo "Setting up $(VENV) (once, about a minute) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[agent]' --group dev
	@touch $(READY)
