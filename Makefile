# Every target makes its own virtual environment first; nothing needs to be installed by hand.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
UV := build/uv/bin/uv
EXPORT := --all-extras --no-emit-project

.PHONY: demo serve-demo schemathesis test check studies audits boundscheck timing crashes mutants storm-sweeps storms benchmark docs lock lowest package sbom clean

demo: $(READY)
	$(BIN)/python -m discreet.demo

# a service on port 8000, and 2,000 simulated participants who use it; Ctrl-C stops it
serve-demo: $(READY)
	$(BIN)/python -m discreet.serve._play

# ten minutes: requests that are made from the description of the API, in sequences too
schemathesis: $(READY)
	DISCREET_EXAMPLES=200 $(BIN)/python -m pytest tests/serve/test_serve_schemathesis.py

test: check
	$(BIN)/python -m pytest -n 2

check: $(READY)
	$(BIN)/ruff check src tests benchmarks docs/site
	$(BIN)/ruff format --check src tests benchmarks docs/site
	$(BIN)/mypy
	$(BIN)/mypy --config-file tests/mypy.ini tests

# an hour or more on two cores; what runs in threads of ours needs none of NumPy's
studies: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/discreet reproduce all --scale full --seed 1 --output out/studies
	$(BIN)/python -m discreet.studies._gallery out/studies --docs docs

# half an hour on two cores: every private row for a minute, live noise and linear rows too
audits: $(READY)
	$(BIN)/python -m discreet.audit._table --seconds 60 --workers 2 --output docs/audits.md

# every row and composition with indices checked in compiled code, whose cache is its own
boundscheck: $(READY)
	NUMBA_BOUNDSCHECK=1 DISCREET_CACHE=$(VENV)/boundscheck $(BIN)/python -m pytest -n 2 \
		tests/policies tests/identify tests/linear

# half an hour on one core of a quiet machine: durations and releases of live trials, attacked together
timing: $(READY)
	$(BIN)/python benchmarks/timing.py

# half an hour: a crash at every operation on files, an interrupt at every line, in the lives of trials
crashes: $(READY)
	DISCREET_CRASHES=all $(BIN)/python -m pytest -n 2 -k "crash or interrupt" tests/live

# about an hour: small changes in code that touches outcomes, each of which some test should notice
mutants: $(READY)
	$(BIN)/python benchmarks/mutants.py

# a minute or two: a sweep that is killed at a random moment ten times and restarted
storm-sweeps: $(READY)
	DISCREET_KILLS=10 $(BIN)/python -m pytest tests/sweeps -k killed

# a quarter of an hour: processes of shared trials, and servers, that are killed at random moments
storms: $(READY)
	DISCREET_KILLS=600 $(BIN)/python -m pytest -s tests/live/test_live_storms.py

benchmark: $(READY)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[benchmark]"
	$(BIN)/python benchmarks/run.py

# a minute or two: the pages and the API reference as a web site in out/docs, warnings as errors
docs: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[docs]"
	$(BIN)/python docs/site/stage.py build/docs/pages
	$(BIN)/sphinx-build -q -W --keep-going -c docs/site -d build/docs/doctrees build/docs/pages out/docs

# renews the pinned versions; the other targets install what constraints.txt says
lock: $(UV)
	$(UV) lock --upgrade --quiet
	$(UV) export --quiet --frozen $(EXPORT) --no-hashes --no-annotate --no-header --output-file constraints.txt

# a few minutes: the command line with the lowest versions that pyproject.toml declares
lowest: $(UV)
	$(UV) pip compile --quiet --python $(PYTHON) --resolution lowest-direct --extra dev --extra serve --extra postgres --extra openfeature pyproject.toml \
		--output-file build/lowest.txt
	$(PYTHON) -m venv --clear build/lowest
	$(UV) pip install --quiet --python build/lowest/bin/python -r build/lowest.txt
	$(UV) pip install --quiet --python build/lowest/bin/python --no-deps -e .
	build/lowest/bin/python -m pytest -p no:cacheprovider tests/cli

# the wheel and the source archive, each installed into an empty environment and run
package: $(UV)
	rm -rf dist
	$(UV) build --quiet --python $(PYTHON)
	for built in dist/*.whl dist/*.tar.gz; do \
		$(PYTHON) -m venv --clear build/package && \
		build/package/bin/python -m pip install --quiet --disable-pip-version-check \
			-c constraints.txt "$$built" && \
		build/package/bin/discreet compare imed dp-imed --means .75,.5 --epsilon 1 --horizon 1e4 \
			|| exit 1; \
	done

# what the pinned environment is made of, for a release, as CycloneDX
sbom:
	$(PYTHON) -m venv build/sbom
	build/sbom/bin/python -m pip install --quiet --disable-pip-version-check "cyclonedx-bom>=7,<8"
	mkdir -p dist
	build/sbom/bin/cyclonedx-py requirements --output-reproducible --of JSON -o dist/discreet.cdx.json constraints.txt

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev,serve,postgres,openfeature]"
	touch $(READY)

$(UV):
	$(PYTHON) -m venv build/uv
	build/uv/bin/python -m pip install --quiet --disable-pip-version-check "uv>=0.9,<1"

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
