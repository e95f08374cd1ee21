/* SPDX-License-Identifier: Apache-2.0 */
/* The result of a comparison as a text table or as JSON: a line for each tensor, for each role,
 * for the linear layers and for all. */
#ifndef TERNPACK_VERIFY_TABLE_H
#define TERNPACK_VERIFY_TABLE_H

#include "base/util/error.h"
#include "base/util/mem.h"
#include "verify/compare.h"
#include "verify/options.h"

int table_text(const struct compare *c, enum options_sort sort, struct buffer *out, struct error *err);
/* A JSON member: ,"compare":{"reference":..,"tensors":[..],"roles":[..],"linear":{..},"total":{..}}; numbers that are
 * not finite are null. */
int table_json(const struct compare *c, enum options_sort sort, const char *reference, struct buffer *out,
               struct error *err);

#endif
