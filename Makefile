# What a fresh machine needs: Python 3.11 or newer with venv, and make. Each target makes its own virtual environment.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo check unit quick test coverage properties questions faults chaos simulate fuzz mutation browser recording etcds bench fix lock clean
.DEFAULT_GOAL := test

# The main job on the sample tenants: etcd, API server and compiler start, compile, show what came out, and end.
demo: $(READY)
	$(BIN)/intentc dev --load sample/tenant.yml sample/chain.yml --exit-when-converged

# Format, types and layers.
check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Tests start some hundred processes: without cached bytecode each of them compiles intentc's modules again.
unexport PYTHONDONTWRITEBYTECODE

# A file is one process's, and so is what its tests share: a running system, a browser. Files start in the order in which
# they are collected: small ones (tests/unit) come last, so that both processes end at about the same time.
PYTEST = $(BIN)/python -m pytest -q --numprocesses=2 --dist=loadfile --no-loadscope-reorder

# What needs no server: unit tests and golden cases.
unit: $(READY)
	$(PYTEST) tests/golden tests/unit

# What a change can break, by imports, nearest first, for at most a minute; needs no server.
quick: $(READY)
	$(BIN)/python -m tests.quick

# Everything; ends with the CPU that each directory took.
test: check
	$(PYTEST)

# The lines of intentc that unit tests and golden cases run, in this process; the tests of `make test` run more.
coverage: $(READY)
	$(BIN)/python -m coverage run -m pytest -q tests/golden tests/unit
	$(BIN)/python -m coverage report --skip-covered --sort=cover

# Each property and state machine over thousands of random examples (`make test`: some dozens, always the same).
properties: $(READY)
	HYPOTHESIS_PROFILE=long $(PYTEST) tests/property tests/simulation tests/unit

# The fault scenarios at full load (`make test` runs their short form): an hour or two, seeds and figures printed.
faults: $(READY)
	INTENTC_FAULTS=full $(BIN)/python -m pytest -q -s --durations=0 tests/faults

# A three-member etcd, two API servers, three compilers, writers at random, and a fault every few seconds; after each round
# everything is audited. `make chaos SEED=N` begins with that round (`make test`: three short rounds).
ROUNDS ?= 20
chaos: $(READY)
	$(BIN)/python -m tests.chaos --rounds $(ROUNDS) $(if $(filter-out 0,$(SEED)),--seed $(SEED))

# Random histories of each compiler for as many minutes, both forms; a failing one prints the seed that replays it:
# make simulate SEED=N.
SEED ?= 0
MINUTES ?= 10
simulate: $(READY)
	for compiler in contrail ambassador; do for form in steps service; do \
		$(BIN)/python -m tests.simulation --compiler $$compiler --form $$form --seed $(SEED) --minutes $(MINUTES) || exit 1; \
	done; done

# Random requests against a real API server over a real etcd (`make test`: some hundred); SEED=N replays a run.
fuzz: $(READY)
	$(BIN)/python -m tests.fuzz --requests 28000 --seed $(SEED)

# Every story with every map that lacks one edge, and the table of what came of it.
mutation: $(READY)
	$(BIN)/python -m tests.mutation

# The diagnostics pages in a browser, over 10,000 resources in a real system and 100,000 in memory (`make test`: fewer).
browser: $(READY)
	INTENTC_BROWSER=full $(BIN)/python -m pytest -q tests/browser

# What one asks at night, of a running system with ten thousand resources; each answer is compared with etcd.
questions: $(READY)
	$(BIN)/python -m tests.questions

# The Kubernetes bridge on a real kube-apiserver: that of KUBEBUILDER_ASSETS, else one that is built once (Debian, root).
kubernetes: $(READY)
	@test -n "$(KUBEBUILDER_ASSETS)" || tests/kubernetes/build-kube-apiserver.sh build/kubernetes
	KUBEBUILDER_ASSETS="$(or $(KUBEBUILDER_ASSETS),$(CURDIR)/build/kubernetes)" $(BIN)/python -m pytest -q tests/kubernetes

# What needs an etcd, on the wheel's and on the newest that Debian has (`make test`: on the one that is installed). The
# first etcd on PATH is the one that tests run.
NEWEST_ETCD := build/newest-etcd
etcds: $(READY)
	tests/integration/fetch-newest-etcd.sh $(NEWEST_ETCD)
	for folder in $$($(BIN)/python -c 'from intentc.dev.etcd_server import wheel_binary; print(wheel_binary().parent)') \
		$(CURDIR)/$(NEWEST_ETCD)/usr/bin; do \
		PATH="$$folder:$$PATH" $(PYTEST) tests/integration tests/faults tests/chaos tests/scenario || exit 1; \
	done

# The picture in the README: a real `make demo`, each line at its time.
recording: $(READY)
	$(BIN)/python -m tests.demo_recording

bench: $(READY)
	$(BIN)/python -m tests.perf --write
	$(BIN)/python -m tests.perf.instructions --write
	$(BIN)/python -m tests.perf.tenants --write
	$(BIN)/python -m tests.perf.gateways --write
	$(BIN)/python -m tests.perf.running_contours --write
	$(BIN)/python -m tests.perf.application_gateways --write
	$(BIN)/python -m tests.perf.cluster --write

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
	CUSTOM_COMPILE_COMMAND="make lock" $(PIP_COMPILE) --extra azure --extra xds --output-file requirements.lock pyproject.toml
	CUSTOM_COMPILE_COMMAND="make lock" $(PIP_COMPILE) --extra test --output-file requirements-dev.lock pyproject.toml

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage
