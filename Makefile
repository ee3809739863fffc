# What a fresh machine needs: Python 3.11 or newer with venv, and make. Each target makes its own virtual environment.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test bench fix lock clean
.DEFAULT_GOAL := test

# The main job on the sample tenant: etcd, API server and compiler start, compile, show what came out, and end.
demo: $(READY)
	$(BIN)/intentc dev --load sample/tenant.yml --exit-when-converged

test: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q

bench: $(READY)
	$(BIN)/python -m tests.perf --write

fix: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(READY): requirements-dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "intentc needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes --requirement requirements-dev.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

# Pins everything anew, with hashes: requirements.lock is what the image installs, requirements-dev.lock what tests
# and builds need, too.
PIP_COMPILE = build/pip-tools/bin/pip-compile --quiet --generate-hashes --strip-extras --allow-unsafe \
	--no-emit-index-url --no-emit-trusted-host --no-emit-find-links --upgrade
lock:
	$(PYTHON) -m venv build/pip-tools
	build/pip-tools/bin/pip install --quiet pip-tools
	CUSTOM_COMPILE_COMMAND="make lock" $(PIP_COMPILE) --output-file requirements.lock pyproject.toml
	CUSTOM_COMPILE_COMMAND="make lock" $(PIP_COMPILE) --extra test --output-file requirements-dev.lock pyproject.toml

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
