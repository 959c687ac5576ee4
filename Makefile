PYTHON = .venv/bin/python

.PHONY: setup test lint ci agent manifests schemas constraints

setup: .venv  ## an environment with everything, exact versions
	$(PYTHON) -m pip install --quiet --upgrade 'pip>=25.1'
	$(PYTHON) -m pip install --quiet "$$(grep '^torch==' constraints.txt)"
	$(PYTHON) -m pip install --quiet -c constraints.txt -e '.[audio,demo,hdf5,stateful]' --group test --group lint

.venv:
	$$(command -v python3.11 || command -v python3) -m venv .venv

test:
	$(PYTHON) -m pytest -q

lint:
	.venv/bin/ruff check src tests benchmarks
	.venv/bin/ruff format --check src tests benchmarks
	.venv/bin/mypy
	.venv/bin/lint-imports --no-cache --no-logo

ci:  ## what must hold before a change is taken
	.ci/run

agent:  ## agent.md anew from src/dataloader_expert/prompts
	$(PYTHON) -m dataloader_expert.prompts > agent.md

manifests:  ## plugin, bundle, marketplace and registry files anew
	$(PYTHON) -m dataloader_expert.server.manifests .

schemas:  ## the output schemas that are shipped, and what clients are told of each tool, anew
	$(PYTHON) -m dataloader_expert.server.schemas
	$(PYTHON) -m tests.harness --schemas tests/harness/schemas.json

constraints:  ## the exact versions anew from .venv
	{ sed '/^[^#]/d' constraints.txt; \
	  $(PYTHON) -m pip freeze --all --exclude pip --exclude-editable | sed 's/+cpu$$//'; } > constraints.new
	mv constraints.new constraints.txt
