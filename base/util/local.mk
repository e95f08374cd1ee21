# SPDX-License-Identifier: Apache-2.0
libbase_a_SOURCES += base/util/bytes.h base/util/cli.h base/util/digest.h base/util/error.h base/util/file.h base/util/json.h base/util/mem.h base/util/parallel.h base/util/progress.h base/util/rng.h base/util/text.h 
