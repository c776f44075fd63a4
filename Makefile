# Every target sets itself up in .venv from a fresh clone; set-up runs again only when pyproject.toml or
# constraints.txt changed. Only Python >= 3.11 is needed to begin with (another one: make PYTHON=python3.12 ...).

PYTHON ?= python3
ARGS ?=
# Parallel test processes; each keeps to one thread, so that two do not fight over two cores.
JOBS ?= 2
BIN := .venv/bin

# pip reads it in the isolated build environment too: nothing is ever installed at another version.
export PIP_CONSTRAINT := constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Modules of .venv are compiled when they are first imported, which else every process would do anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help verify test lint style types imports docs bench setup
.DELETE_ON_ERROR:

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' Makefile

verify: .venv/.ready-verify ## check our, PyTorch's and transformers' implementations, quickly (ARGS="--profile full", ARGS="ID --seed 1")
	$(BIN)/attnspec verify $(ARGS)

test: .venv/.ready-all ## run the tests (ARGS="tests/spec -k softmax")
	OMP_NUM_THREADS=1 HF_HUB_OFFLINE=1 $(BIN)/python -m pytest -n $(JOBS) --dist worksteal --timeout 1800 $(ARGS)

lint: style types imports ## style, types and import contracts (make -k lint: all three whatever fails)

style: .venv/.ready-all
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/.ready-all
	$(BIN)/mypy

imports: .venv/.ready-all
	$(BIN)/lint-imports

docs: .venv/.ready-all ## build the pages into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: .venv/.ready-verify ## time ours beside PyTorch's and transformers', in one run
	$(BIN)/python -m benchmarks $(ARGS)

setup: .venv/.ready-all ## only set up .venv, with everything

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("attnspec needs Python 3.11 or newer; try: make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv .venv

# Two levels: `verify` and `bench` need the packages and the peers, the rest needs all extras. Modules are compiled when they are
# first imported: of the thousands that are installed few ever are.
.venv/.ready-verify: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Setting up .venv (once, about a minute) ..."
	$(BIN)/python -m pip install -qq --no-compile -c constraints.txt -e '.[peers]'
	@touch $@

.venv/.ready-all: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Setting up .venv with all extras (once, about a minute) ..."
	$(BIN)/python -m pip install -qq --no-compile -c constraints.txt -e '.[peers,docs,dev]'
	@touch $@ .venv/.ready-verify
