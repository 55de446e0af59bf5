#!/usr/bin/env bash
# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Have galaxy-importer judge a package as a galaxy server does when somebody publishes it. A warning is a failure, too.
# It has an environment of its own, because it needs an older attrs than requirements-dev.lock has; hence it is no test, which
# would have to fetch it.
set -euo pipefail
cd "$(dirname "$0")/.."
VERSION=0.4.44

package=$(realpath "$1")
environment=$PWD/.cache/galaxy-importer
if ! [[ -e $environment/.complete-$VERSION ]]; then
    echo "Installing galaxy-importer $VERSION in ${environment#"$PWD/"}"
    .venv/bin/python -m venv --clear "$environment"
    "$environment/bin/pip" install --quiet --disable-pip-version-check "galaxy-importer==$VERSION"
    touch "$environment/.complete-$VERSION"
fi

# It writes its result into the folder where it runs, and an error of the import is no failure of the program.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
PATH=$environment/bin:$PATH python -m galaxy_importer.main "$package" >log 2>&1 || true
if ! grep -qx 'Importer processing completed successfully' log || grep -qE '^(WARNING|ERROR)' log; then
    grep -v '^Loading ' log >&2
    echo "galaxy-importer objects to $(basename "$package"). Fix what it names." >&2
    exit 1
fi
echo "galaxy-importer $VERSION accepts $(basename "$package")"
