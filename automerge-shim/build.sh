#!/bin/sh
# Builds the shim and copies it to where Go embeds it.
#
#   build.sh           build and install internal/automerge/automerge.wasm
#   build.sh --check   build and fail unless the installed file is the same, byte for byte
#
# The result must not depend on where the sources or the registry lie, so that
# anybody can check the committed file: paths are remapped, versions locked.
set -eu

here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd -P)
installed=$here/../internal/automerge/automerge.wasm
built=$here/target/wasm32-wasip1/release/automerge_shim.wasm
cargo_home=${CARGO_HOME:-$HOME/.cargo}

# One flag per line: cargo separates encoded flags by the unit separator.
flags="--remap-path-prefix=$here=/shim"
sep=$(printf '\037')
for src in "$cargo_home"/registry/src/*; do
	[ -d "$src" ] && flags="$flags$sep--remap-path-prefix=$src=/crates"
done

cd "$here"
cargo fetch --locked --target wasm32-wasip1 --quiet
for src in "$cargo_home"/registry/src/*; do
	case $flags in
	*"$src="*) ;;
	*) flags="$flags$sep--remap-path-prefix=$src=/crates" ;;
	esac
done
CARGO_ENCODED_RUSTFLAGS=$flags CARGO_TARGET_DIR=$here/target \
	cargo build --locked --release --target wasm32-wasip1 --quiet

if [ "${1:-}" = --check ]; then
	want=$(sha256sum <"$installed")
	got=$(sha256sum <"$built")
	if [ "$want" != "$got" ]; then
		echo "automerge.wasm differs from what the sources give: run automerge-shim/build.sh and commit it" >&2
		exit 1
	fi
	echo "automerge.wasm is what the sources give"
	exit 0
fi
mkdir -p "$(dirname "$installed")"
cp "$built" "$installed"
sha256sum "$installed"
