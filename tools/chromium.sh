#!/usr/bin/env bash
# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The tests of the report and of the documentation site need a real browser. Installs Debian's Chromium where that is
# possible without asking (root and apt).
# Nothing else needs it: without one, these tests are skipped, and say so.
set -euo pipefail

! command -v chromium >/dev/null || exit 0
if [[ $(id -u) -eq 0 ]] && command -v apt-get >/dev/null; then
    echo "Installing with apt: Chromium"
    if apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null; then
        exit 0
    fi
fi
echo "Chromium is missing: the tests in a browser are skipped." >&2
