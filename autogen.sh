#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Make ./configure from configure.ac.
set -e
cd "$(dirname "$0")"
mkdir -p build-aux
exec autoreconf --install --force --warnings=no-portability
