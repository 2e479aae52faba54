# What a person types. `make` alone lists the targets.
#
# Needs Go, Python 3 with venv, Node with npm, and make. Everything else comes
# from the package registries into the user's cache folder.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
VERSION     ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
PREFIX      ?= $(HOME)/.local
FUZZTIME    ?= 10s
BENCH       ?= .
BENCHTIME   ?= 1s
SOAKTIME    ?= 10m
CHAOSTIME   ?= 5m
TESTFLAGS   ?=
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
PROGRAMS    := runt runtimed runt-mcp-proxy
SOURCES     := bench cmd internal scripts
# The race detector is written in C++ and needs a C compiler to link.
RACE        := $(if $(shell command -v gcc || command -v clang),-race,)

.DEFAULT_GOAL := help
.PHONY: help run test conformance build install bench soak chaos fuzz lint deps wasm third-party clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

build: ## build the three programs into bin/
	@mkdir -p bin
	go build -trimpath -ldflags "-s -w -X runt/internal/buildinfo.version=$(VERSION)" -o bin/ ./cmd/...

run: build ## run an agent's session on examples/ with the real programs
	@if [ -x scripts/demo.sh ]; then scripts/demo.sh; else echo "built: $(PROGRAMS:%=bin/%)"; fi

install: build ## copy the programs to PREFIX/bin, which is ~/.local/bin
	install -d "$(PREFIX)/bin"
	install -m 755 $(PROGRAMS:%=bin/%) "$(PREFIX)/bin"

deps: ## install what the tests need into the user's cache folder
	@scripts/test-deps

test: lint deps wasm ## lint, and every test with the race detector
	@[ -n "$(RACE)" ] || echo "no C compiler: testing without the race detector"
	RUNT_INTEROP_SEEDS=40 RUNT_TEST_PYTHON="$$(scripts/test-deps python)/python" go test $(RACE) -timeout 9m $(TESTFLAGS) ./...
	$(MAKE) conformance

conformance: deps ## what others made for MCP, against runt: the conformance suite, the inspector, the official libraries
	go vet -tags conformance ./internal/mcpserver ./internal/e2e/clients
	RUNT_TEST_PYTHON="$$(scripts/test-deps python)/python" go test -tags conformance -count 1 -timeout 9m -run 'TestX0[36]' $(TESTFLAGS) ./internal/mcpserver ./internal/e2e/clients

lint: ## gofmt, go vet, staticcheck
	@bad=$$(gofmt -l $(SOURCES)); [ -z "$$bad" ] || { echo "not formatted:"; echo "$$bad"; exit 1; }
	go vet ./...
	go run $(STATICCHECK) ./...

wasm: ## check that the committed engine is what its sources give, where Rust is installed
	@scripts/check-wasm

fuzz: ## every fuzz target for FUZZTIME
	@FUZZTIME=$(FUZZTIME) scripts/fuzz

bench: build deps ## benchmarks, and where the time of an execution goes
	go test -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) ./internal/...
	@if [ -x scripts/bench.sh ]; then scripts/bench.sh; fi

soak: build deps ## an agent works for SOAKTIME while what serves it is killed again and again
	go run ./scripts/soak -bin bin -python "$$(scripts/test-deps python)" -duration $(SOAKTIME)

chaos: build deps ## agents work for CHAOSTIME while daemon, session layers and kernel hosts die at random; then: is all there once?
	go run ./scripts/soak -chaos -bin bin -python "$$(scripts/test-deps python)" -duration $(CHAOSTIME)

third-party: ## write THIRD_PARTY.md anew
	go run ./scripts/thirdparty

clean: ## remove what was built
	rm -rf bin .cache automerge-shim/target
