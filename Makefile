# Each target does the set-up that it needs; see `make help`.

BIN  := .venv/bin
JOBS ?= 2
LOGS ?= logs/$(shell date +%Y%m%d-%H%M%S)
PYTEST_ARGS ?= -n $(JOBS) --dist worksteal
UPGRADE ?=

.DEFAULT_GOAL := help
.PHONY: help setup research setup-research run test lint format docs bench lock clean

help: ## show this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 16

setup: ## install what is missing: system packages, browser, .venv (done by the others as well)
	@scripts/setup

research: setup-research ## install what the research suite needs: sandbox, codes, their environment

setup-research:
	@scripts/setup --research

run: setup ## watch the reference agent operate the diffractometer, and get its report
	@$(BIN)/matassay run instruments/xrd --agent reference --log-dir $(LOGS)

test: setup-research ## run all tests
	@$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: setup ## check style, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: setup ## put the code into its standard form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: setup ## build the documentation into docs/_build/html
	$(BIN)/sphinx-build -W --keep-going -q docs docs/_build/html
	@echo "docs/_build/html/index.html"

bench: setup ## measure speed and memory, as JSON
	@$(BIN)/python -m benchmarks

# One lock for every extra and every supported Python. Hashes are left out on purpose: they would refuse a
# wheel that somebody built for their own platform. `make lock UPGRADE=--upgrade` moves to the newest versions.
lock: setup ## write requirements.lock anew after a change of dependencies in pyproject.toml
	$(BIN)/python -m pip install -qq "uv==0.13.9"
	$(BIN)/uv pip compile pyproject.toml --all-extras --universal --python-version 3.11 --fork-strategy fewest \
		--no-emit-index-url --no-annotate --custom-compile-command "make lock" -q $(UPGRADE) -o requirements.lock

clean: ## remove what was built, the environment included; logs stay
	rm -rf .venv .workspace .setup.lock build dist docs/_build docs/reference/generated
	rm -rf .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
