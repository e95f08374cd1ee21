# SPDX-License-Identifier: Apache-2.0
dist_check_SCRIPTS += tests/cli/layers.sh tests/cli/data.sh
TESTS += tests/cli/layers.sh tests/cli/data.sh

# The drawer and what goes wrong around the tools.
dist_check_SCRIPTS += tests/cli/hostile.sh tests/cli/usage.sh tests/cli/man.sh tests/cli/truncate.sh tests/cli/faults.sh
TESTS += tests/cli/hostile.sh tests/cli/usage.sh tests/cli/man.sh tests/cli/truncate.sh tests/cli/faults.sh
