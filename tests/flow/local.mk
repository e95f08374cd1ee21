# SPDX-License-Identifier: Apache-2.0
dist_check_SCRIPTS += tests/flow/garden.sh tests/flow/valgrind.sh
TESTS += tests/flow/garden.sh tests/flow/valgrind.sh
