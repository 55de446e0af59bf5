#!/usr/bin/env bash
# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The sandbox's brokers need Java 17 or newer, Maven for their jars, and openssl for certificates. Installs what is missing
# where that is possible without asking (root and apt), else says what to install.
set -euo pipefail

# As sandbox_java.py looks for one.
java_is_new_enough() {
    local program version
    for program in ${JAVA_HOME:+"$JAVA_HOME/bin/java"} java; do
        version=$("$program" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p') || continue
        [[ ${version:-0} -lt 17 ]] || return 0
    done
    return 1
}

missing() {
    java_is_new_enough || echo "Java 17 or newer"
    command -v mvn >/dev/null || echo "Maven"
    command -v openssl >/dev/null || echo "openssl"
}

install() {
    local java
    apt-get update -qq
    for java in openjdk-21-jre-headless openjdk-17-jre-headless; do
        if apt-cache show "$java" >/dev/null 2>&1; then
            apt-get install -y -qq --no-install-recommends "$java" maven openssl >/dev/null
            return
        fi
    done
}

[[ -n $(missing) ]] || exit 0
if [[ $(id -u) -eq 0 ]] && command -v apt-get >/dev/null; then
    echo "Installing with apt: $(missing | paste -sd, | sed 's/,/, /g')"
    DEBIAN_FRONTEND=noninteractive install || true
fi
if [[ -n $(missing) ]]; then
    echo "Please install: $(missing | paste -sd, | sed 's/,/, /g')." >&2
    exit 1
fi
