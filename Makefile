# Punctual. `make` alone lists the targets.
SHELL := /bin/bash
.DEFAULT_GOAL := help
# One way to compile for programs, tests, checks and releases: a machine on which nothing is compiled yet does it once.
export GOFLAGS += -trimpath
# Property tests draw the same in every run of one commit; `make fuzz` draws what nobody has tried.
export RAPID_SEED ?= 1

VERSION ?= $(shell git describe --tags --always --dirty --match 'v*' 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION) -X main.commit=$(shell git rev-parse HEAD 2>/dev/null)
GO_SOURCES = $(shell git ls-files '*.go' | grep -v -e '_templ\.go$$')
# Without go.work, because no tool shall move what the programs are made of. Those that read Go themselves are found with -n.
TOOL := GOWORK=off go tool -modfile=tools/go.mod

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-zA-Z/_-]+:.*?## ' $(MAKEFILE_LIST) | sort | awk -F ':.*?## ' '{printf "  %-14s %s\n", $$1, $$2}'

## ---- use

.PHONY: run
run: build ## build and start Punctual with its embedded database in ./data (http://localhost:8080)
	@exec ./bin/punctual serve

.PHONY: build
build: ## build both programs into ./bin
	@command -v go >/dev/null || { echo "Go is missing: Punctual is built with Go 1.26 or later. Its packages need no Go: see README.md." >&2; exit 1; }
	@[ -e bin/punctual ] || echo "Building Punctual and its executor into ./bin. The first time Go fetches what they are made of and compiles it all: some minutes, later seconds."
	@mkdir -p bin
	@for program in punctual punctual-executor; do \
	  [ -e bin/$$program ] || echo "  building bin/$$program"; \
	  CGO_ENABLED=0 go build -ldflags '$(LDFLAGS)' -o bin/$$program ./app/cmd/$$program || \
	    { echo "It was not built. If modules could not be fetched: README.md says how it works behind a proxy or with a module mirror." >&2; exit 1; }; \
	done

.PHONY: dist
dist: ## make archives, packages, images, bills of materials and checksums of a release into ./dist (docs/install.md)
	cd tools/dist && GOWORK=off go build -o ../../bin/dist .
	./bin/dist $(if $(DIST_TARGETS),-targets $(DIST_TARGETS))

.PHONY: dist/verify
dist/verify: ## make a release twice, compare, install the debs where nobody else sees it, start the image (the last two as root)
	cd tools/dist && GOWORK=off go vet . && GOWORK=off go test -v -count=1 -timeout 15m .

.PHONY: dist/check
dist/check: ## make a release for this machine alone and look into it: what of dist/verify takes a minute or two
	cd tools/dist && GOWORK=off go vet . && GOWORK=off go test -short -count=1 -timeout 10m .

.PHONY: deploy/verify
deploy/verify: ## check deploy/ with Helm, Kubernetes' schemas and Compose's own reader (the first time some minutes: Helm is compiled)
	cd tools/deploy && GOWORK=off go vet ./... && GOWORK=off go test -count=1 -timeout 15m .

## ---- develop

.PHONY: dev
dev: ## rebuild templates and restart on every change of a .templ file
	go tool templ generate --watch --cmd "go run ./app/cmd/punctual serve"

.PHONY: generate
generate: ## write the generated Go anew (templ, sqlc)
	go tool templ generate
	$(TOOL) sqlc generate

.PHONY: licences
licences: ## write the licences that the programs print (punctual licences) anew, after a change of go.mod
	.ci/licences ./app/cmd/punctual | gzip -9n > app/cmd/punctual/licences.txt.gz
	.ci/licences ./app/cmd/punctual-executor | gzip -9n > app/cmd/punctual-executor/licences.txt.gz

.PHONY: assets
assets: ## bundle css, js and fonts from npm packages into static/dist (needs Node.js; nobody else does)
	static/src/build.sh

.PHONY: fmt
fmt: ## format Go and templ sources
	gofmt -w $(GO_SOURCES)
	go tool templ fmt views

.PHONY: tidy
tidy: ## tidy the module files
	.ci/mod mod tidy
	cd executor && go mod tidy
	cd tools && go mod tidy
	cd tools/dist && GOWORK=off go mod tidy
	cd tools/deploy && GOWORK=off go mod tidy
	cd tools/s3 && GOWORK=off go mod tidy
	cd executor/compat && go mod tidy

## ---- check

.PHONY: deps
deps: ## install what the tests need and the machine lacks (Debian packages, as root)
	@.ci/deps

.PHONY: test
# As the programs are built.
test test/galera test/upgrade lint: export CGO_ENABLED = 0

test: deps ## run all tests: both databases, a real browser, real scripts and kills
	@# Vetted is by make lint, with more than go test asks. Most tests wait more than they compute: on two processors two at once are too few.
	@# With more garbage, collecting it takes a third of the time; the programs of app/e2e are to do as they do elsewhere.
	@# Those that take longest begin first: none of them is left to run alone.
	GOGC=300 TEST_DB=required TEST_LDAP=required TEST_S3=required TEST_BROWSER=required go test -vet=off -parallel 6 -timeout 20m \
	  ./scheduler ./app ./views/gallery $$(go list ./... ./executor/... | grep -v /app/e2e)
	@# Programs and browsers beside each other are enough for a small machine.
	TEST_DB=required TEST_LDAP=required TEST_BROWSER=required go test -vet=off -timeout 30m ./app/e2e
	cd executor/compat && go test ./...

.PHONY: mutation
mutation: ## break PKG in each small way and list what its tests do not notice: make mutation PKG=./scheduler/jobspec [ARGS="-files decide"]
	@mkdir -p bin
	cd tools && GOWORK=off go build -o ../bin/mutate ./mutate
	bin/mutate -skip /mariadb $(ARGS) $(PKG)

.PHONY: screenshots
screenshots: deps ## photograph every page, with demo data and with invented data, into SCREENSHOTS (./.scratch/screenshots)
	SCREENSHOTS=$(or $(SCREENSHOTS),$(CURDIR)/.scratch/screenshots) go test -count=1 -tags screenshots -timeout 15m -run TestScreenshots ./app/e2e
	GALLERY_DIR=$(or $(SCREENSHOTS),$(CURDIR)/.scratch/screenshots)/gallery go test -count=1 -tags gallery -timeout 15m -run TestScreenshots ./views/gallery

.PHONY: test/keycloak
test/keycloak: ## sign in at a real Keycloak, which Maven gets (a minute or two; TEST_KEYCLOAK: the folder of one)
	@.ci/keycloak

.PHONY: test/api
test/api: ## lint the document of API v1 (Redocly, by npm), make clients of it (npm, pip) and have Schemathesis (by pip) ask for everything, with a token of each scope (ARGS=-short: what CI does)
	@.ci/api $(ARGS)

.PHONY: test/mysql
test/mysql: deps ## the tests that touch the database on a real MySQL, which mmdebstrap gets from Debian (PKG: which; TEST_DB_ROOT: the folder of one)
	@.ci/database mysql $(PKG)

.PHONY: test/mariadb
test/mariadb: deps ## the same on MariaDB 11, from Debian too (PKG, TEST_DB_ROOT)
	@.ci/database mariadb $(PKG)

.PHONY: test/galera
test/galera: deps ## admins on the nodes of a private Galera cluster, of Debian's MariaDB: races of results and of joins, nodes that are lost (some minutes)
	TEST_DB=required go test -vet=off -count=1 -timeout 15m -run Galera ./db/... ./scheduler ./app/e2e

.PHONY: test/flows
test/flows: deps ## kill admins while flows go on, five times over (some minutes)
	TEST_DB=required TEST_FLOW_KILLS=1 go test -vet=off -count=5 -timeout 30m -run TestKillAdminsUnderFlows ./app/e2e

.PHONY: test/upgrade
test/upgrade: deps ## put admins of today in the place of older ones under load, on both databases: make test/upgrade FROM=v1.2.3 (a tag or commit)
	@.ci/upgrade $(FROM)

.PHONY: test/bench
test/bench: deps ## each measurement that docs/performance.md names, in small, and each benchmark once (a quarter of an hour)
	TEST_DB=required go test -vet=off -run '^$$' -bench . -benchtime 1x $$(go list ./... ./executor/...)
	TEST_DB=required PUNCTUAL_TEST_BENCH=1 go test -vet=off -count=1 -timeout 60m -run TestTheMeasurementsOfTheManual ./app/e2e

.PHONY: test/race
test/race: deps ## the tests under the race detector (slow: the embedded database is pure Go)
	TEST_DB=required CGO_ENABLED=1 go test -race -short -timeout 30m ./... ./executor/...

.PHONY: simulate
simulate: ## play a simulated cluster for TIME (10m), or the scenario of one SEED again; prints what it came to
	@set -o pipefail; GOGC=400 go test -count=1 -timeout 0 -v -run '^TestSimulation$$' ./scheduler/simulate $(if $(SEED),-simulate.seed=$(SEED) -simulate.log,-simulate.time=$(or $(TIME),10m) -simulate.from=$(or $(FROM),1)) $(SIMULATE) | grep -v -e '^=== ' -e '^ *--- PASS'

.PHONY: fuzz
fuzz: ## fuzz every parser of outside text for FUZZTIME (10s) each, and try each property CHECKS (1000) times with what was not drawn before
	@.ci/fuzz $(or $(FUZZTIME),10s) $(or $(CHECKS),1000)

.PHONY: bench
bench: build deps ## whole-system measurements on both databases; prints the machine and a table
	bin/punctual bench $(or $(BENCH),--all --database embedded,mariadb)

.PHONY: verify
verify: ## fail when something generated is stale
	go tool templ generate >/dev/null
	$(TOOL) sqlc diff
	git diff --exit-code -- '*_templ.go' || { echo "stale templates: run make generate and commit"; exit 1; }
	@for program in app/cmd/punctual app/cmd/punctual-executor; do \
	  [ "$$(.ci/licences ./$$program)" = "$$(gzip -dc $$program/licences.txt.gz)" ] || { echo "stale licences of $$program: run make licences and commit"; exit 1; }; \
	done

.PHONY: assets/verify
assets/verify: ## fail when static/dist is not what the lock file builds (needs npm and its registry)
	@.ci/assets

.PHONY: vulnerabilities
vulnerabilities: ## look for known vulnerabilities in what the programs call (GOVULNDB: where the list of them is)
	@.ci/vulnerabilities

.PHONY: lint
lint: ## vet, staticcheck, switches that lack a value, formatting, import arrows, the oldest Go for the executor
	@bad=$$(gofmt -l $(GO_SOURCES)); [ -z "$$bad" ] || { echo "not gofmt'd: $$bad"; exit 1; }
	go vet ./... ./executor/compat/...
	cd executor && GOWORK=off go vet ./...
	$$($(TOOL) -n staticcheck) ./... ./executor/...
	$$($(TOOL) -n exhaustive) -d ./... ./executor/...
	@.ci/arrows
	@.ci/oldgo

.PHONY: check
check: verify lint test ## everything CI checks
