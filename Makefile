# `make help` lists the targets. Everything runs in .venv, which the targets bring up to date.

SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help setup demo-setup demo test controlplane e2e lint format bench crds builtin-schemas docs requirements clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## Make .venv with everything to develop and test (needs Python 3.11 or newer)
	@$(PYTHON) tools/environment.py dev

demo-setup:
	@$(PYTHON) tools/environment.py demo

demo: demo-setup ## Watch two teams share a GPU fleet: set up what it needs and simulate
	@$(BIN)/muster simulate examples/two-teams

test: setup ## Run all tests (PYTEST_ARGS='-k name' to choose)
	$(BIN)/python -m pytest --numprocesses=auto $(PYTEST_ARGS)

controlplane: setup ## Build a real Kubernetes control plane for `make e2e`; the first time takes minutes
	@$(BIN)/python -m muster.queue.controlplane.build

e2e: $(if $(KUBEBUILDER_ASSETS),setup,controlplane) ## Run the tests that need one (PYTEST_ARGS='--kubeconfig FILE' for another)
	$(BIN)/python -m pytest tests/e2e --numprocesses=2 $(PYTEST_ARGS)

lint: setup ## Check style, format, types and the direction of imports
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: setup ## Format the code and repair what the linter can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: setup ## Measure the engine and the sandbox against their targets
	$(BIN)/python -m tests.bench

crds: setup ## Write crds/ from the API models
	$(BIN)/python -m muster.queue.api.crds crds/

builtin-schemas: controlplane ## Write the sandbox's schemas of built-in kinds from a real control plane
	$(BIN)/python tools/builtin_schemas.py
	$(BIN)/python tools/field_numbers.py

docs: setup ## Write what the commands shown in the docs print
	$(BIN)/python tools/transcripts.py

# No index address goes into these files: whoever installs uses the index their pip is set to.
COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --fork-strategy fewest \
	--generate-hashes --no-emit-index-url --no-header --system-certs $(UPGRADE)
requirements: setup ## Pin requirements/ from pyproject.toml (UPGRADE=--upgrade for newer versions)
	$(COMPILE) pyproject.toml --all-extras --group dev --output-file requirements/dev.txt
	$(COMPILE) pyproject.toml --all-extras --constraints requirements/dev.txt --output-file requirements/runtime.txt
	$(COMPILE) pyproject.toml --extra sandbox --group build --constraints requirements/dev.txt --output-file requirements/demo.txt
	$(COMPILE) --group go --output-file tests/e2e/controlplane/go.txt

clean: ## Remove .venv and everything generated that is not committed
	rm -rf .venv .venv.lock .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage htmlcov dist
	find admission queue tests tools -name __pycache__ -type d -prune -exec rm -rf {} +
