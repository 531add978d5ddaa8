# Everything a developer or a newcomer runs. Needs: make, and root or apt packages already there.
VENV := .venv
PGBLEND := $(VENV)/bin/pgblend
PYTEST := $(VENV)/bin/python -m pytest

# Set, each process of a test run would rewrite the assertions of all tests, each time.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: $(shell sed -nE 's/^([a-z-]+):.*\#\# .*/\1/p' $(MAKEFILE_LIST))

help: ## Show the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1\t\2/p' $(MAKEFILE_LIST) | column -t -s "$$(printf '\t')"

setup: ## Install PostgreSQL, pgvector and a Python environment for developing
	docker/provision.sh
	docker/chromium.sh
	docker/plproxy.sh
	docker/environment.sh $(VENV) dev

setup-run: ## Install what running needs, and no more
	docker/provision.sh
	docker/environment.sh $(VENV) documents,local

demo: setup-run ## Search the PostgreSQL manual: server, gateway, ingest, three queries
	docker/demo.sh $(PGBLEND)

demo-cluster: setup-run ## A coordinator with three shards behind pgbouncer; one stops and comes back (root at first)
	docker/plproxy.sh
	command -v pgbouncer || [ -x /usr/sbin/pgbouncer ] || apt-get install --yes --no-install-recommends pgbouncer
	docker/cluster/demo.sh $(PGBLEND)

demo-managed: setup-run ## A server without PL/Python, 1 ms away: an owner without rights ingests, asks, joins in psql
	docker/demo_managed.sh $(PGBLEND)

test: quick ## Tier 1 (make quick), which CI runs first

# Files by processes: what a file sets up is used by all its tests.
AT_ONCE := --numprocesses 3 --dist loadfile --no-loadscope-reorder

quick: setup ## Tier 1, in CI: neither slow nor extended tests; fails below 90 % coverage (twelve minutes)
	$(PYTEST) -m "not slow and not extended" $(AT_ONCE) --cov --cov-report=term --cov-fail-under=90
	@echo "Not run: extended and slow tests, scale, all sets of relevance (make extended, all, scale, relevance)"

extended: setup ## In CI too: tests of seconds whose room has cheaper ones, and the examples of README (five minutes)
	$(PYTEST) -m "extended and not slow" $(AT_ONCE)

faults: setup ## Tier 2: everything that may go wrong, and a table of what held (half an hour)
	$(PYTEST) -m fault --fault-table

silence: setup ## Two databases that differ in hidden documents answer alike (SEED, OPERATIONS; 100,000 in an hour)
	PGBLEND_SILENCE_SEED=$(or $(SEED),1) PGBLEND_SILENCE_OPERATIONS=$(or $(OPERATIONS),100000) \
		$(PYTEST) -s tests/security/test_silence.py -k are_silent

clients: setup ## Tier 3: clients and BI tools, pages in a browser, MCP's conformance suite, the documentation's programs (half an hour)
	$(PYTEST) tests/clients tests/browser tests/serve/test_mcp_conformance.py tests/docs
	@echo "A client that is not here was skipped, and is named above"

frameworks: setup ## LangChain's own suites, LlamaIndex, Haystack, Django and SQLAlchemy over a database (two minutes)
	$(PYTEST) tests/integrations tests/docs/test_examples.py::test_the_slow_examples_of_a_page

# Commands that are tried on a managed server as well, by their tests.
MANAGED = $(addsuffix .py,graph graph_entities eval_tune eval_learn calibrate)
managed: setup ## The program outside the backend, also behind pgbouncer in transaction mode, and the demonstration (root at first; ten minutes)
	command -v debootstrap || apt-get install --yes --no-install-recommends debootstrap pgbouncer
	PYTHONPATH=tests $(VENV)/bin/python -c 'from support import pgbouncer as p; p.newer_pgbouncer() or p.make_newer()'
	PGBLEND_MANAGED_SEARCHES=2000 $(PYTEST) tests/managed
	$(PYTEST) --managed tests/integrations $(addprefix tests/cli/test_,$(MANAGED))

scale: ## Tier 4: time and size at 10,000 to 500,000 passages (an hour; BENCH="--sizes 10000" for less)
	docker/provision.sh
	docker/environment.sh $(VENV) dev,bench
	$(VENV)/bin/python tests/benchmarks/bench.py --growth $(BENCH)

relevance: setup ## Tier 5: nDCG and recall on all judged collections: fails where a figure falls (twenty minutes)
	$(PYTEST) tests/relevance

soak: setup ## Readers, writers, kills and vacuum at once, answers checked, memory drawn (half an hour; MINUTES=5 for less)
	command -v pgbouncer || [ -x /usr/sbin/pgbouncer ] || apt-get install --yes --no-install-recommends pgbouncer
	PYTHONPATH=tests $(VENV)/bin/python -m soak --minutes $(or $(MINUTES),30)

all: setup ## Every test there is, slow ones too, and the table of faults (two hours); scale apart
	$(PYTEST) --fault-table
	@echo "Not run: scale and soak (make scale, make soak)"

test-all: setup ## PostgreSQL 15 to 19, each with its own Python, and a table (root; a gigabyte and half an hour each)
	command -v debootstrap || apt-get install --yes debootstrap
	$(VENV)/bin/python tests/versions/matrix.py

bench: ## Quality, speed and memory beside peers in one table (an hour; BENCH="--growth" for more)
	docker/provision.sh
	docker/environment.sh $(VENV) dev,bench
	$(VENV)/bin/python tests/benchmarks/bench.py $(BENCH)

same: setup ## Whether this tree answers as another does: 504 searches, signatures, rights, texts (BASE=commit; ten minutes)
	$(VENV)/bin/python tests/benchmarks/compare_trees.py $(BASE)

bench-publish: ## Write the figures of README and docs/benchmarks.md from the last make bench
	$(VENV)/bin/python tests/benchmarks/publish.py

bench-hybrid: ## hybrid_search beside its arms and its peers, 1 and 8 clients (an hour)
	docker/provision.sh
	docker/environment.sh $(VENV) dev,bench
	$(VENV)/bin/python tests/benchmarks/bench_hybrid.py --clients $(or $(PASSAGES),50000 167000 500000)

bench-lexical: setup ## The lexical arm beside pg_textsearch, ts_rank_cd and bm25s (root; an hour at first)
	command -v debootstrap || apt-get install --yes debootstrap
	$(VENV)/bin/python tests/benchmarks/bench_lexical.py $(CORPORA)

install-size: setup ## What `pip install pgblend` brings, plain and with each extra: fails above 150 MB (ten minutes)
	$(VENV)/bin/python tests/benchmarks/install_sizes.py

packages: setup ## Wheel and sdist into dist/, as a release has them, and run from an empty environment (ten minutes)
	$(PYTEST) tests/contract/test_packages.py
	$(VENV)/bin/python -m build --outdir dist
	rm -rf pgblend.egg-info

bare: packages ## Install on a bare Debian 12 and 13 as the quickstart says, from clone and wheel (root; twenty minutes)
	command -v debootstrap || apt-get install --yes debootstrap
	$(VENV)/bin/python tests/versions/bare.py

bare-pages: packages ## Every example of README and docs/ on a bare Debian 12 and 13, by the wheel (root; an hour)
	command -v debootstrap || apt-get install --yes debootstrap
	$(VENV)/bin/python tests/versions/bare.py --ways pages

images: setup ## Both container images with docker or podman: their sizes; those of podman are run as well, by root (half an hour)
	docker/images.sh
	$(PYTEST) tests/faults/test_images.py

constraints: setup ## Write docker/constraints.txt: the newest versions of the images' libraries that pyproject.toml allows
	$(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 --no-header --no-annotate --upgrade \
		--extra documents --extra local --extra mcp pyproject.toml --output-file docker/constraints.txt

lint: setup ## ruff, mypy, sqlfluff and shellcheck
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy
	$(VENV)/bin/sqlfluff lint --disable-progress-bar --processes 2 sql
	$(VENV)/bin/shellcheck docker/*.sh docker/cluster/*.sh .ci/run

format: ## Format the Python code
	$(VENV)/bin/ruff check --fix
	$(VENV)/bin/ruff format

up: setup-run ## Start the private server and the model gateway
	$(PGBLEND) up

down: ## Stop them
	$(PGBLEND) down

freeze: ## Freeze the newest revision for a release
	$(PGBLEND) migrate freeze
	docker/environment.sh $(VENV) dev

extension: setup-run ## Write the files of CREATE EXTENSION pgblend into build/extension
	$(PGBLEND) migrate extension build/extension

docs: ## Write docs/reference/ from commands, settings, functions and views as they are now
	$(PYTEST) tests/contract/test_references.py --update-golden

site: setup ## Build docs/ as a site in build/site; fails on a link that leads nowhere
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --quiet --strict

pictures: setup ## Take the pictures of README and docs/page.md anew with Chromium, into docs/images; look at them (five minutes)
	$(VENV)/bin/python tests/browser/pictures.py

golden: ## Write tests/golden/ from the code as it is now; look at the difference
	$(PYTEST) tests/contract --update-golden

clean: ## Remove what make made in this folder
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage
