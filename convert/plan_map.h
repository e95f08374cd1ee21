/* SPDX-License-Identifier: Apache-2.0 */
/* First half of the plan: every tensor of the checkpoint finds its role, or is dropped for a stated reason, or is
 * refused. */
#ifndef TERNPACK_CONVERT_PLAN_MAP_H
#define TERNPACK_CONVERT_PLAN_MAP_H

#include "convert/plan.h"

struct plan_slot {
    enum role role;
    int layer;
    const struct st_tensor *tensor; /* NULL: absent (a tied head, or the computed rotary factors) */
};

struct plan_map {
    struct plan_slot *slots; /* in the file's order */
    size_t n_slots;
    struct plan_dropped *dropped;
    size_t n_dropped;
    bool tied;
};

int plan_map_make(struct plan_map *map, const struct config *c, const struct st_model *m, struct extras *extras,
                  struct notes *notes, struct error *err);
void plan_map_free(struct plan_map *map);

/* Put the name of the tensor's file before an error's text; returns the code. */
int plan_blame(const struct st_model *m, const struct st_tensor *t, struct error *err);

#endif
