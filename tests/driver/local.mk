# SPDX-License-Identifier: Apache-2.0
dist_check_SCRIPTS += tests/driver/failure.sh tests/driver/plan.sh tests/driver/resume.sh
TESTS += tests/driver/failure.sh tests/driver/plan.sh tests/driver/resume.sh
