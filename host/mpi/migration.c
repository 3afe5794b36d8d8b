/* Objects to the neighbours (mpi.h). See world.h, leavers.h.
 *
 * A run: head (status and numbers of objects) to and from each neighbour; then the values, straight
 * out of and into the arrays of each class; they are made; an answer to each neighbour from which
 * some came; those that are there by their answer are freed here.
 *
 * Invariant: a rank that fails before the heads says so in them, so nobody waits for its values;
 * one that fails to make the objects says so in its answers, and they stay where they are.
 */
#include <stdlib.h>
#include <string.h>

#include "mpi/leavers.h"

#define MOST 65536u

enum { HEAD_STATUS, HEAD_KIND, HEAD_COUNTS };

/* Of a run, in memory that is kept if the world breaks. */
typedef struct exchange {
    /* of each direction: HEAD_COUNTS, objects of each class, elements of each array that grows */
    int64_t *heads_out, *heads_in;
    int32_t answers_out[CLUMP_WORLD_DIRECTIONS_MAX], answers_in[CLUMP_WORLD_DIRECTIONS_MAX];
    uint32_t head_words;
    int has_left[CLUMP_WORLD_DIRECTIONS_MAX];
    clump_status status;
    clump_error error; /* of the first failure */
    clump_migration_report report;
} exchange;

static clump_status make_migration(clump_world *world, const clump_migration_desc *desc,
                                   clump_migration **migration) {
    if (!migration || !desc->heap || !desc->class_name)
        return clumpi_world_fail(world, CLUMP_ERR_USAGE,
                                 "clump_migration_create needs a heap, the name of a class, and a "
                                 "pointer for the migration");
    clump_status status = clumpi_world_use(world);
    if (status) return status;
    clump_migration *m = calloc(1, sizeof *m);
    if (!m)
        return clumpi_world_fail(world, CLUMP_ERR_HOST_MEMORY, "no host memory for a migration");
    m->world = world;
    m->heap = desc->heap;
    m->copies = desc->copies != 0;
    m->most = desc->most ? desc->most : MOST;
    if (strlen(desc->class_name) >= sizeof m->class_name)
        status = clumpi_world_fail(world, CLUMP_ERR_NOT_FOUND, "no class has a name of %zu letters",
                                   strlen(desc->class_name));
    else
        memcpy(m->class_name, desc->class_name, strlen(desc->class_name) + 1);
    if (!status) status = clumpi_world_take_tags(world, &m->tags);
    if (!status) status = clumpi_leavers_open(m, m->class_name, desc->field);
    if (status) {
        clump_migration_destroy(m);
        return status;
    }
    if (!m->has_field) m->info.list = m->list;
    *migration = m;
    return CLUMP_OK;
}

clump_status clump_migration_create(clump_world *world, const clump_migration_desc *given,
                                    clump_migration **migration, clump_error *error) {
    clump_migration_desc desc = {.size = sizeof desc};
    if (migration) *migration = NULL;
    clump_status status =
        world ? CLUMPI_TAKE(clump_migration_desc, &desc, given, &world->error) : CLUMP_ERR_USAGE;
    if (!status) status = make_migration(world, &desc, migration);
    return clumpi_world_tell(world, status, error);
}

void clump_migration_destroy(clump_migration *migration) {
    if (!migration) return;
    clumpi_leavers_close(migration);
    clumpi_messages_free(migration->world, &migration->messages);
    free(migration);
}

const clump_migration_info *clump_migration_get_info(const clump_migration *migration) {
    static const clump_migration_info none;
    return migration ? &migration->info : &none;
}

/* ---- A run ----------------------------------------------------------------------------------- */

static int tag_of(const clump_migration *m, int kind, uint32_t direction) {
    return m->tags + kind * 32 + (int)direction;
}

/* The first failure stays. */
static void note(exchange *x, const clump_world *world, clump_status status) {
    if (x->status || !status) return;
    x->status = status;
    x->error = world->error;
}

static int neighbour(const clump_migration *m, uint32_t d) {
    return m->world->place.neighbours[d];
}

static clump_status wait_for_messages(clump_migration *m, exchange *x) {
    const double begin = MPI_Wtime();
    const clump_status status = clumpi_messages_wait(m->world, &m->messages, "clump_migration_run");
    x->report.wait_s += MPI_Wtime() - begin;
    return status;
}

static int64_t *head_out(const exchange *x, uint32_t d) {
    return x->heads_out + (uint64_t)d * x->head_words;
}
static int64_t *head_in(const exchange *x, uint32_t d) {
    return x->heads_in + (uint64_t)d * x->head_words;
}

static clump_status exchange_heads(clump_migration *m, exchange *x) {
    clump_world *world = m->world;
    const uint64_t bytes = x->head_words * sizeof *x->heads_out;
    clump_status status = CLUMP_OK;
    for (uint32_t d = 0; d < world->place.directions && !status; d++) {
        if (neighbour(m, d) < 0) continue;
        int64_t *head = head_out(x, d);
        head[HEAD_STATUS] = x->status;
        head[HEAD_KIND] = (int64_t)(m->kind & INT64_MAX);
        for (uint32_t k = 0, at = HEAD_COUNTS + m->mover_count; k < m->mover_count; k++) {
            const clumpi_moving *out = &m->out[k];
            head[HEAD_COUNTS + k] = x->status ? 0 : (int64_t)(out->from[d + 1] - out->from[d]);
            for (uint32_t a = 0; a < m->movers[k].array_count; a++) {
                const uint64_t *from = out->arrays[a].from;
                head[at++] = x->status ? 0 : (int64_t)(from[d + 1] - from[d]);
            }
        }
        status = clumpi_post_receive(world, &m->messages, head_in(x, d), bytes, neighbour(m, d),
                                     tag_of(m, CLUMPI_TAG_HEAD, clumpi_opposite(world, d)));
        if (!status)
            status = clumpi_post_send(world, &m->messages, head, bytes, neighbour(m, d),
                                      tag_of(m, CLUMPI_TAG_HEAD, d));
    }
    if (!status) status = wait_for_messages(m, x);
    return status;
}

/* Values go between two ranks if neither has failed. */
static int is_open(const exchange *x, const clump_migration *m, uint32_t d) {
    return neighbour(m, d) >= 0 && !head_in(x, d)[HEAD_STATUS] && !head_out(x, d)[HEAD_STATUS];
}

static void judge_heads(clump_migration *m, exchange *x) {
    clump_world *world = m->world;
    for (uint32_t d = 0; d < world->place.directions; d++) {
        if (neighbour(m, d) < 0) continue;
        int64_t *head = head_in(x, d);
        const clump_status theirs = (clump_status)head[HEAD_STATUS];
        if (head[HEAD_KIND] != (int64_t)(m->kind & INT64_MAX)) {
            world->is_broken = 1;
            note(x, world,
                 clumpi_world_fail(world, CLUMP_ERR_RANK,
                                   "clump_migration_run: on rank %d, class %s has other subclasses "
                                   "or fields, or the rank makes other calls",
                                   neighbour(m, d), m->class_name));
        } else if (theirs)
            note(x, world,
                 clumpi_world_fail(world, CLUMP_ERR_RANK,
                                   "clump_migration_run: rank %d failed: %s. The objects that were "
                                   "to go there stay",
                                   neighbour(m, d), clump_status_name(theirs)));
    }
}

/* Where the part of each direction begins, and the end. `word` of a head has how many there are. */
static void place_parts(clump_migration *m, const exchange *x, uint32_t word, uint64_t *from) {
    from[0] = 0;
    for (uint32_t d = 0; d < m->world->place.directions; d++)
        from[d + 1] = from[d] + (is_open(x, m, d) ? (uint64_t)head_in(x, d)[word] : 0);
}

static void count_arrivals(clump_migration *m, const exchange *x) {
    for (uint32_t k = 0, at = HEAD_COUNTS + m->mover_count; k < m->mover_count; k++) {
        clumpi_moving *in = &m->in[k];
        place_parts(m, x, HEAD_COUNTS + k, in->from);
        in->count = in->from[m->world->place.directions];
        for (uint32_t a = 0; a < m->movers[k].array_count; a++)
            place_parts(m, x, at++, in->arrays[a].from);
    }
}

/* The part of one array of `each` bytes an element: to the neighbour, or from there. */
static clump_status post_part(clump_migration *m, exchange *x, uint32_t d, int is_send, void *data,
                              const uint64_t *from, uint64_t each) {
    clump_world *world = m->world;
    char *part = (char *)data + from[d] * each;
    const uint64_t bytes = (from[d + 1] - from[d]) * each;
    if (!bytes) return CLUMP_OK;
    if (!is_send)
        return clumpi_post_receive(world, &m->messages, part, bytes, neighbour(m, d),
                                   tag_of(m, CLUMPI_TAG_DATA, clumpi_opposite(world, d)));
    x->report.bytes += bytes;
    return clumpi_post_send(world, &m->messages, part, bytes, neighbour(m, d),
                            tag_of(m, CLUMPI_TAG_DATA, d));
}

static clump_status post_class(clump_migration *m, exchange *x, uint32_t d, int is_send,
                               uint32_t k) {
    const clumpi_mover *mover = &m->movers[k];
    const clumpi_moving *moving = is_send ? &m->out[k] : &m->in[k];
    clump_status status =
        post_part(m, x, d, is_send, moving->values.memory, moving->from, mover->desc.bytes);
    for (uint32_t a = 0; a < mover->array_count && !status; a++) {
        const clumpi_moving_array *array = &moving->arrays[a];
        status = post_part(m, x, d, is_send, array->words, moving->from, 2 * sizeof(uint32_t));
        if (!status)
            status = post_part(m, x, d, is_send, array->elements.memory, array->from,
                               m->growing[mover->arrays[a]].field.element_bytes);
    }
    return status;
}

static clump_status exchange_values(clump_migration *m, exchange *x) {
    clump_world *world = m->world;
    clump_status status = CLUMP_OK;
    for (int sends = 0; sends < 2; sends++)
        for (uint32_t d = 0; d < world->place.directions; d++)
            for (uint32_t k = 0; k < m->mover_count && is_open(x, m, d) && !status; k++)
                status = post_class(m, x, d, sends, k);
    if (!status) status = wait_for_messages(m, x);
    return status;
}

static uint64_t count_in(const clump_migration *m, uint32_t d) {
    uint64_t count = 0;
    for (uint32_t k = 0; k < m->mover_count; k++) count += m->in[k].from[d + 1] - m->in[k].from[d];
    return count;
}
static uint64_t count_out(const clump_migration *m, uint32_t d) {
    uint64_t count = 0;
    for (uint32_t k = 0; k < m->mover_count; k++)
        count += m->out[k].from[d + 1] - m->out[k].from[d];
    return count;
}

static clump_status exchange_answers(clump_migration *m, exchange *x, clump_status made) {
    clump_world *world = m->world;
    clump_status status = CLUMP_OK;
    for (uint32_t d = 0; d < world->place.directions && !status; d++) {
        if (!is_open(x, m, d)) continue;
        x->answers_out[d] = made;
        if (count_out(m, d))
            status = clumpi_post_receive(world, &m->messages, &x->answers_in[d], sizeof(int32_t),
                                         neighbour(m, d),
                                         tag_of(m, CLUMPI_TAG_ANSWER, clumpi_opposite(world, d)));
        if (!status && count_in(m, d))
            status = clumpi_post_send(world, &m->messages, &x->answers_out[d], sizeof(int32_t),
                                      neighbour(m, d), tag_of(m, CLUMPI_TAG_ANSWER, d));
    }
    if (!status) status = wait_for_messages(m, x);
    for (uint32_t d = 0; d < world->place.directions && !status; d++) {
        const uint64_t count = is_open(x, m, d) ? count_out(m, d) : 0;
        x->has_left[d] = count && !x->answers_in[d];
        if (x->has_left[d]) x->report.left += count;
        if (count && x->answers_in[d])
            note(x, world,
                 clumpi_world_fail(world, CLUMP_ERR_RANK,
                                   "clump_migration_run: rank %d could not receive %llu objects of "
                                   "class %s: %s. They stay",
                                   neighbour(m, d), (unsigned long long)count, m->class_name,
                                   clump_status_name((clump_status)x->answers_in[d])));
    }
    return status;
}

static clump_status exchange_all(clump_migration *m, exchange *x) {
    clump_world *world = m->world;
    const double begin = MPI_Wtime();
    note(x, world, clumpi_leavers_take(m));
    x->report.take_s = MPI_Wtime() - begin;
    clump_status status = exchange_heads(m, x);
    if (status) return status;
    judge_heads(m, x);
    if (world->is_broken) return x->status;
    count_arrivals(m, x);
    status = clumpi_arrivals_open(m);
    if (status) {
        world->is_broken = 1; /* neighbours send what has no place */
        return status;
    }
    status = exchange_values(m, x);
    if (status) return status;
    const double received = MPI_Wtime();
    const clump_status made = clumpi_arrivals_make(m);
    x->report.make_s = MPI_Wtime() - received;
    note(x, world, made);
    x->report.arrived = m->arrived;
    status = exchange_answers(m, x, made);
    if (status) return status;
    const double answered = MPI_Wtime();
    note(x, world, clumpi_leavers_free(m, x->has_left));
    note(x, world, clumpi_leavers_clear(m));
    x->report.free_s = MPI_Wtime() - answered;
    x->report.left_out = m->left_out;
    return CLUMP_OK;
}

clump_status clump_migration_run(clump_migration *migration, clump_migration_report *report) {
    if (!migration) return CLUMP_ERR_USAGE;
    clump_migration *m = migration;
    clump_world *world = m->world;
    clump_status status = CLUMPI_PLACE(clump_migration_report, report, &world->error);
    if (!status) status = clumpi_world_use(world);
    if (status) return status;
    exchange *x = calloc(1, sizeof *x);
    const uint32_t words = HEAD_COUNTS + m->mover_count + m->array_count;
    const size_t heads = (size_t)world->place.directions * words;
    if (x) x->heads_out = calloc(heads, sizeof *x->heads_out);
    if (x) x->heads_in = calloc(heads, sizeof *x->heads_in);
    if (!x || !x->heads_out || !x->heads_in) {
        if (x) free(x->heads_out);
        free(x);
        world->is_broken = 1;
        return clumpi_world_fail(world, CLUMP_ERR_HOST_MEMORY, "no host memory for a migration");
    }
    x->head_words = words;
    m->arrived = 0;
    status = exchange_all(m, x);
    m->info.arrivals = m->arrived ? m->arrivals : NULL;
    if (!status && x->status) {
        status = x->status;
        world->error = x->error;
    }
    CLUMPI_GIVE(report, x->report);
    clumpi_world_free(world, x->heads_out);
    clumpi_world_free(world, x->heads_in);
    clumpi_world_free(world, x);
    return status;
}
