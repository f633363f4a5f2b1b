# One line for each thing you do often; `just` alone lists them.
export PATH := `scripts/install-tools --path` + ":" + env("PATH")

# List the recipes
default:
    @just --list --unsorted

# Install the pinned tools and the engines that tests run against
setup:
    scripts/install-tools && scripts/install-engines

# Run Watchbell with its own private engines
dev *args:
    cargo run -p server --bin watchbell -- dev {{ args }}

# Build the console, which the next `cargo build` puts into the binary
console:
    scripts/build-console

# The console's tests in a real browser
e2e *args: console
    cargo build -p server && npm --prefix console run e2e -- {{ args }}

# All checks, cheapest first
check: fmt typos deny tidy console-check clippy generated

# Lints and tests of what changed since a commit, between two edits
quick since="HEAD":
    cargo xtask quick {{ since }}

# All tests, or those that match
test *args:
    cargo nextest run --workspace {{ args }}

# What CI runs
ci:
    .ci/run

# Run the commands of all pages, or of those named
docs *pages:
    cargo build -p server && scripts/run-docs --python "$(scripts/test-python-sdk --path)/python" {{ pages }}

# Build the documentation as a book, and check its links
book:
    cargo xtask book

# The SDKs' tests against a real server
sdks:
    cargo build -p server && scripts/test-python-sdk && scripts/test-typescript-sdk

# Made-up requests to every operation of the OpenAPI document, on a real server
api *args:
    cargo build -p server && scripts/check-api {{ args }}

# What can be checked of the packaging without a cluster
deploy:
    scripts/check-deploy

# Build the image and start what is in deploy/, up to verified webhooks; needs root on Debian
images:
    cargo build -p server && scripts/check-images

# Break a whole fleet under load, for half an hour or as told; needs root on Linux
faults *args:
    scripts/install-fault-tools && cargo xtask faults {{ args }}

# The tests that reach our SQL on every PostgreSQL that we support, or on those named
postgres *args:
    scripts/test-postgres {{ args }}

# Make the packages and install each where nothing of ours was before; needs root on Debian
packages:
    cargo build -p server && scripts/check-packages

# Upgrade a real installation from the version before
upgrade:
    cargo build -p server && scripts/test-upgrade

# Search for inputs that break a parser, or with `all` every parser, for some seconds
fuzz target="all" seconds="60":
    fuzz/run {{ target }} {{ seconds }}

# Write the generated files anew
generate:
    cargo xtask generate

# Formatting
fmt:
    cargo fmt --all --check

# Spelling
typos:
    typos

# Who may import whom, licenses, sources
deny:
    cargo deny --log-level error check bans licenses sources

# Known vulnerabilities of what is in the lock files; asks GitHub and npm's registry for the advisories
advisories:
    cargo deny --log-level error check advisories
    npm --prefix console audit
    npm --prefix sdks/typescript audit

# Rules of the house
tidy:
    cargo xtask tidy

# Types and lints of the console
console-check:
    npm --prefix console run check

# Lints
clippy:
    cargo clippy --workspace --all-targets -- -D warnings

# Generated files are current
generated:
    cargo xtask generate --check
