#!/usr/bin/env bash
# Measures the programs in bin/ beside a raw kernel and jupyter_client, and
# beside nteract's programs where RUNT_PEERS names their folder.
#
#   scripts/bench.sh                        everything, as a table
#   scripts/bench.sh -only execute -json    see go run ./bench -help
set -euo pipefail
cd "$(dirname "$0")/.."
python=$(scripts/test-deps python)/python
exec go run ./bench -bin bin -python "$python" "$@"
