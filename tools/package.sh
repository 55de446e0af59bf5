#!/usr/bin/env bash
# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Build the package in dist/. With a version: write its release notes beside it, if galaxy.yml and the changelog agree on it.
set -euo pipefail
cd "$(dirname "$0")/.."

rm -rf dist && mkdir dist
if [[ $# -gt 0 ]]; then
    if ! grep -qx "version: $1" galaxy.yml; then
        echo "galaxy.yml has another version than $1. Set it, run antsibull-changelog release, and commit." >&2
        exit 1
    fi
    if ! grep -qx "  $1:" changelogs/changelog.yaml 2>/dev/null; then
        echo "changelogs/changelog.yaml does not have $1. Run antsibull-changelog release, and commit." >&2
        exit 1
    fi
    .venv/bin/antsibull-changelog generate --only-latest --output dist/notes.md --output-format md "$1"
fi
# The package has the guides for antsibull-docs; the checkout has the pages that they are made of.
trap 'rm -rf docs/docsite' EXIT
.venv/bin/python docs/site/docsite.py docs/docsite
.venv/bin/ansible-galaxy collection build --output-path dist
tools/importer.sh dist/*.tar.gz
