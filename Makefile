# One word for each job. Everything lands in .venv, .cache and .ansible, which git ignores.

PYTHON := .venv/bin/python
PYTEST := $(PYTHON) -m pytest
# For programs that import the collection; pytest and Ansible find it by their own settings.
PROGRAM := PYTHONPATH="$(CURDIR)/.ansible/collections:$(CURDIR)" $(PYTHON)
# How many test processes. They share brokers, and wait for them: two cores have time for a third process. `make check`
# has no brokers, and takes one process for each core.
WORKERS ?= 3
# How often `make test` repeats a test that has failed, unless its time was up. It shows every failure at once.
RERUNS ?= 1
# How long `make attack` goes on (EXHAUSTIVE=3: instead of random worlds, all up to this size), how many rounds `make soak` does, and which worlds, migrations or events are seen.
SECONDS ?= 600
ROUNDS ?= 200
SEED ?= 1
# How many faults `make faults` lets happen, and to which destination's Kafka version, which `make integration` takes, too.
# MORE: `--minutes 9`, `--spark`, `--situations`, `--kind worker`; see tests/faults/run.py.
COUNT ?= 200
# How many groups `make bench-estate` migrates, and on how many partitions of each cluster.
GROUPS ?= 10000
PARTITIONS ?= 10000
# How many records `make bench-logs` reads.
RECORDS ?= 100000000
VERSION ?= 4.3.0

# Molecule, ansible-lint and the tests call Ansible's programs by name.
export PATH := $(CURDIR)/.venv/bin:$(PATH)
# They find this checkout by its ansible.cfg, and Spark in .venv, and not what a shell has set for other work.
unexport SPARK_HOME $(filter ANSIBLE_%,$(.VARIABLES))

.DEFAULT_GOAL := help
.PHONY: help setup java chromium demo check test integration molecule lint format docs bench bench-estate bench-logs attack faults soak matrix lock package clean

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*  ## /\1|/p' Makefile | while IFS='|' read -r name text; do printf '  make %-12s %s\n' "$$name" "$$text"; done

setup: .venv/.complete java chromium  ## the virtual environment, its packages, Java, Maven and Chromium (all other commands do it when needed)

.venv/.complete: requirements-dev.lock tools/venv.sh
	@tools/venv.sh
	@touch $@

java:
	@tools/java.sh

chromium:
	@tools/chromium.sh

demo: .venv/.complete java  ## two clusters, a company's data, MirrorMaker 2 and the migration; KEEP=1 leaves it running
	@$(PROGRAM) demo/run.py

check: WORKERS = auto
check: .venv/.complete  ## every check and test that needs no broker, but long ones, such as Ansible's sanity tests
	@$(PYTEST) -n $(WORKERS) -m "not long" tests/unit tests/quality

test: setup  ## everything: check, real brokers, molecule
	@$(PYTEST) -n $(WORKERS) --dist loadfile --no-loadscope-reorder --reruns $(RERUNS) --rerun-except from.pytest-timeout tests

integration: setup  ## the tests on real brokers of one version (VERSION=3.9.1), each with what else it needs
	@$(PYTEST) -n $(WORKERS) --dist loadfile --no-loadscope-reorder -p tests.support.kafka_version --kafka-version $(VERSION) tests/integration

molecule: .venv/.complete java  ## four of the users' stories, by molecule on real brokers
	@$(PYTEST) tests/molecule

lint: .venv/.complete  ## formatting, types, import rules, YAML and Ansible's conventions
	@$(PYTEST) tests/quality/test_lint.py

format: .venv/.complete  ## put the Python files in order, and declare the roles' variables as the modules declare their options
	@$(PYTHON) -m ruff check --fix . ; $(PYTHON) -m ruff format .
	@$(PROGRAM) tools/role_options.py

docs: .venv/.complete  ## the documentation site: every page, module, role and playbook, in .cache/docs/html
	@$(PYTHON) docs/site/build.py .cache/docs

bench: .venv/.complete java  ## print how fast it is, side by side with plain reading
	@$(PROGRAM) tests/benchmark/run.py

bench-estate: setup  ## what a migration of a large estate costs, step by step; GROUPS=10000 PARTITIONS=10000
	@ESTATE_GROUPS=$(GROUPS) ESTATE_PARTITIONS=$(PARTITIONS) $(PROGRAM) tests/benchmark/run.py estate

bench-logs: .venv/.complete java  ## how long logs are counted and verified, and with how much memory; RECORDS=100000000
	@LOG_RECORDS=$(RECORDS) $(PROGRAM) tests/benchmark/run.py logs

attack: .venv/.complete  ## random worlds against the rule; SECONDS=600 SEED=1, or POSITIONS=100000, or all small ones: EXHAUSTIVE=3
	@$(PROGRAM) tests/attack/run.py --seed $(SEED) --workers $(WORKERS) \
		$(if $(EXHAUSTIVE),--exhaustive $(EXHAUSTIVE),$(if $(POSITIONS),--positions $(POSITIONS),--seconds $(SECONDS)))

faults: .venv/.complete java  ## kills, freezes and cuts during migrations, at random times; COUNT=200 SEED=1 VERSION=4.3.0
	@$(PROGRAM) tests/faults/run.py --count $(COUNT) --seed $(SEED) --version $(VERSION) $(MORE)

soak: .venv/.complete java  ## rounds for hours beside a company that works, then a cut-over; ROUNDS=200 SEED=1
	@$(PROGRAM) tests/soak/run.py --rounds $(ROUNDS) --seed $(SEED)

matrix: .venv/.complete java  ## the package with other versions of Ansible, Python, Kafka and Spark; COLUMNS="lowest newest"
	@$(PROGRAM) tests/matrix/run.py $(COLUMNS)

lock: .venv/.complete  ## pin the newest packages that requirements-dev.in allows (on Python 3.11)
	@tools/lock.sh

package: .venv/.complete  ## what galaxy servers get, in dist/; VERSION=0.3.0 writes notes, too, and refuses any other version
	@tools/package.sh $(if $(filter command line,$(origin VERSION)),$(VERSION))

clean:  ## remove what builds and tests have left (the virtual environment and downloaded jars stay)
	@[ ! -d .cache/demo ] || python3 roles/kafka_sandbox/files/kafka_sandbox.py stop --work .cache/demo >/dev/null
	@rm -rf .cache .*_cache .hypothesis dist htmlcov *.tar.gz
	@find . -name __pycache__ -type d -not -path './.venv/*' -not -path './.ansible/*' -prune -exec rm -rf {} +
