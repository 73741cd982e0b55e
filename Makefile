# Needs only make and python3 (3.11 or newer); everything else goes into .venv.
VENV ?= .venv
BIN := $(VENV)/bin
PYTHON ?= python3
DEMO ?= ogive-demo
FUZZ_INPUTS ?= 28000
FUZZ_JOBS ?= 2
FUZZ_SEED ?= 1
comma := ,
# OGIVE_TORCH=1 tests torch and deep encoders as well; OGIVE_TORCH=2.13.0, that version of it.
DEV := dev$(if $(OGIVE_TORCH),$(comma)deep)
# Two workers: one with the OpenBLAS kernels of this processor, one with those of another, whose last
# bits differ. Where NumPy has another BLAS, the variable does nothing.
WORKERS := --dist worksteal --tx popen --tx popen//env:OPENBLAS_CORETYPE=Haswell
# Tests start many processes, each of which would compile the package and the tests again.
unexport PYTHONDONTWRITEBYTECODE
# The versions that `make` installs; LOCK= (empty) takes the newest.
LOCK ?= constraints.txt
SETUP := @PYTHON="$(PYTHON)" LOCK="$(LOCK)" TORCH="$(filter-out 1,$(OGIVE_TORCH))" sh scripts/venv.sh "$(VENV)"

.DEFAULT_GOAL := help
.PHONY: help demo check size quick test test-all test-processors fuzz faults mutation dist reproducible sbom lock audit test-wheel test-versions picture bench docs clean

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 16

demo: ## Decode the data sets of scikit-learn; tables and figures in ogive-demo/
	$(SETUP)
	@$(BIN)/ogive demo --out "$(DEMO)"
	@echo "All output lies in $(abspath $(DEMO))"

check: ## Style, types and the direction of imports
	$(SETUP) $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@$(BIN)/python scripts/size.py

size: ## Modules and lines by room, against the budget in pyproject.toml
	@$(PYTHON) scripts/size.py

quick: check ## All checks, and the tests next to what changed since main
	@files=$$($(BIN)/python scripts/changed_tests.py); if [ -z "$$files" ]; then \
		echo "Nothing changed since main that has tests of its own: make test runs them all."; \
	else $(BIN)/python -m pytest -q -n 2 -m "not slow" $$files; fi

test: check ## All checks and the tests that take seconds (OGIVE_TORCH=1: those of torch, too)
	$(BIN)/python -m pytest $(WORKERS) -m "not slow" -p no:randomly

test-all: check ## All checks and all tests
	$(BIN)/python -m pytest $(WORKERS) -p no:randomly
	@sh scripts/other_processors.sh $(BIN)/python Haswell Prescott

test-processors: ## The numeric tests with the OpenBLAS kernels of other processors
	$(SETUP) $(DEV)
	@sh scripts/other_processors.sh $(BIN)/python Haswell Prescott

fuzz: ## Damaged files for every reader and loader: FUZZ_INPUTS for each, FUZZ_SEED, FUZZ_JOBS
	$(SETUP) $(DEV)
	$(BIN)/python scripts/fuzz.py --inputs $(FUZZ_INPUTS) --seed $(FUZZ_SEED) --jobs $(FUZZ_JOBS)

faults: ## Commands killed at random moments, full disks, folders that may not be written
	$(SETUP) $(DEV)
	$(BIN)/python scripts/faults.py

mutation: ## How many of 400 small changes of the numeric code the tests notice; an hour
	$(SETUP) $(DEV),mutation
	$(BIN)/python scripts/mutation.py

dist: ## Build the wheel and the sdist into dist/
	$(SETUP) $(DEV)
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist .

reproducible: ## Build twice, in two folders at two times, and compare the bytes
	$(SETUP) $(DEV)
	@sh scripts/reproducible.sh $(BIN)/python

sbom: dist ## The bill of materials of the wheel (CycloneDX) into build/
	@PYTHON="$(PYTHON)" LOCK="$(LOCK)" sh scripts/sbom.sh

lock: ## Write the versions that are installed now to constraints.txt
	$(SETUP) $(DEV),docs,serve,cluster,learning
	$(BIN)/python scripts/lock.py

audit: ## Known vulnerabilities of the locked versions, where the index knows any
	$(SETUP) $(DEV)
	@PYTHON="$(PYTHON)" sh scripts/venv.sh build/audit bare
	@build/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit
	build/audit/bin/python scripts/audit.py

test-wheel: dist ## The tests against the built wheel, in an environment of its own
	@PYTHON="$(PYTHON)" sh scripts/test_wheel.sh newest

test-versions: dist ## The same with the lowest and with the newest versions of what it needs
	@PYTHON="$(PYTHON)" sh scripts/test_wheel.sh lowest
	@PYTHON="$(PYTHON)" sh scripts/test_wheel.sh newest

picture: ## Draw the pictures of the README and of the first page anew (needs playwright and Chromium)
	$(SETUP)
	$(BIN)/python scripts/picture.py
	$(BIN)/python scripts/report_picture.py

bench: ## Speed beside accuracy, against peers in the same run
	$(SETUP) bench
	$(BIN)/python benchmarks/run.py

docs: ## Documentation in site/, its examples run; warnings are errors
	$(SETUP) docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo "Open $(abspath site)/index.html"

clean: ## Remove the environment, caches and what the demo wrote
	rm -rf "$(VENV)" "$(DEMO)" build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis \
		.import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
