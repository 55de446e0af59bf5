#!/usr/bin/env bash
# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Make .venv with the locked packages, and let Ansible find this checkout as the collection that it is.
set -euo pipefail
cd "$(dirname "$0")/.."

# The newest Python that the lock was tried with; a version manager's shim may be there without its Python.
find_python() {
    local name
    for name in python3.13 python3.12 python3.11 python3; do
        if "$name" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$name"
            return
        fi
    done
    return 1
}

if ! [[ -x .venv/bin/python ]]; then
    if ! python=$(find_python); then
        # Debian's Python comes without the module that makes virtual environments.
        if [[ $(id -u) -eq 0 ]] && command -v apt-get >/dev/null; then
            apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-venv >/dev/null
        fi
        if ! python=$(find_python); then
            echo "Please install Python 3.11 or newer with its venv module (Debian, Ubuntu: python3-venv)." >&2
            exit 1
        fi
    fi
    echo "Making .venv with $("$python" --version)"
    "$python" -m venv .venv
fi
echo "Installing the locked packages: this takes a minute or two if they have to be downloaded"
# The installers say nothing meanwhile, or a line for each of many packages. What sleeps here must not hold the terminal when it is
# over.
while sleep 10 >/dev/null 2>&1; do echo "... $SECONDS s"; done &
ticking=$!
only_uv=$(mktemp)
trap 'kill "$ticking"; rm -f "$only_uv"' EXIT
# uv takes a third of pip's time, but reads none of pip's settings: where it cannot reach a package, pip may.
sed -n '/^uv==/,/[^\\]$/p' requirements-dev.lock >"$only_uv"
install=(.venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes)
"${install[@]}" -r "$only_uv"
if ! .venv/bin/uv pip install --quiet --python .venv/bin/python --require-hashes -r requirements-dev.lock; then
    echo "uv could not install them; pip tries now"
    "${install[@]}" -r requirements-dev.lock
fi
.venv/bin/python conftest.py
