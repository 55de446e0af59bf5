#!/usr/bin/env bash
# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Write requirements-dev.lock. On Python 3.11, the oldest: ansible-core 2.19 is the newest for it.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! .venv/bin/python -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))'; then
    echo "The lock is made on Python 3.11, and .venv has another." >&2
    exit 1
fi
new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT
.venv/bin/python -m piptools compile --quiet --upgrade --generate-hashes --strip-extras --allow-unsafe --no-header \
    --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --output-file "$new/packages" requirements-dev.in
sed -n '/^#/p;/^#/!q' requirements-dev.lock >"$new/head"
cat "$new/head" "$new/packages" >requirements-dev.lock
