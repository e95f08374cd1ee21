# SPDX-License-Identifier: Apache-2.0
dist_check_SCRIPTS += tests/cli/layers.sh tests/cli/data.sh
TESTS += tests/cli/layers.sh tests/cli/data.sh
