/* Worlds of several ranks (include/clump/mpi.h): world.c is the grid of domains, wait.c what ranks
 * wait for and agree on, borders.c where domains end, halo.c edges, delta.c what changed in them,
 * pinned.c memory for transfers, migration.c objects that leave, leavers.c which ones and their
 * values, world_file.c the file of all heaps, which save.c and load.c write and read.
 *
 * A library of its own: it uses the other library by its public functions alone.
 *
 * Invariant: no call of MPI waits for another rank without the deadline, once a world exists; and
 * memory that a message uses is not freed before the message is done. In a broken world it is never
 * freed.
 *
 * Read first: include/clump/mpi.h.
 */
#ifndef CLUMPI_MPI_WORLD_H
#define CLUMPI_MPI_WORLD_H

#include "clump/mpi.h"
#include "core/sized.h"

struct clump_world {
    MPI_Comm comm;
    clump_world_place place;
    clump_context *context;
    cl_command_queue queue;
    cl_context cl;
    int is_out_of_order;
    double timeout_s;
    uint64_t message_bytes;
    uint32_t users; /* halos and migrations made so far, and borders: each has tags of its own */
    int border_tags, has_border_tags;
    int tag_most;
    int is_broken;
    clump_error error;
};

/* Tags of a halo or migration: a number for each kind of message and direction. */
enum {
    CLUMPI_TAG_HEAD,
    CLUMPI_TAG_DATA,
    CLUMPI_TAG_ANSWER,
    CLUMPI_TAG_KINDS,
    CLUMPI_TAGS_EACH = CLUMPI_TAG_KINDS * 32
};

typedef enum clumpi_message_kind {
    CLUMPI_SENT,
    CLUMPI_RECEIVED, /* of the length that was posted */
    CLUMPI_UP_TO     /* received, and may be shorter */
} clumpi_message_kind;

/* Requests under way, and the rank that each waits for. */
typedef struct clumpi_messages {
    MPI_Request *requests;
    MPI_Status *statuses; /* of clumpi_messages_next(): of done[] */
    int *peers;
    int *bytes; /* posted, and for what was received those that came */
    clumpi_message_kind *kinds;
    int *done; /* of clumpi_messages_next(): which are done */
    int count, room;
} clumpi_messages;

/* Of the world's error; returns the status. */
clump_status clumpi_world_fail(clump_world *world, clump_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* As the context's error says, if it is of that status. */
clump_status clumpi_world_fail_context(clump_world *world, clump_status status);
clump_status clumpi_world_fail_cl(clump_world *world, const char *call, cl_int code);
/* The end of a constructor: the caller's record, which may be NULL, gets the world's error. */
clump_status clumpi_world_tell(const clump_world *world, clump_status status, clump_error *error);
clump_status clumpi_world_fail_mpi(clump_world *world, const char *call, int code);

/* CLUMP_ERR_RANK with the words of old, in a broken world. */
clump_status clumpi_world_use(const clump_world *world);

/* Whether a queue is out of order; and what is enqueued there from now on comes after all before,
 * if it is. */
cl_int clumpi_queue_is_out_of_order(cl_command_queue queue, int *is_out_of_order);
clump_status clumpi_world_order(clump_world *world, cl_command_queue queue, int is_out_of_order);

/* Tags for one more halo or migration; CLUMP_ERR_UNSUPPORTED. */
clump_status clumpi_world_take_tags(clump_world *world, int *tags);

/* The opposite of a direction. */
static inline uint32_t clumpi_opposite(const clump_world *world, uint32_t direction) {
    return world->place.directions - 1 - direction;
}

/* Post messages, in pieces of message_bytes. Those of 0 bytes are not sent. */
clump_status clumpi_post_send(clump_world *world, clumpi_messages *m, const void *data,
                              uint64_t bytes, int to, int tag);
clump_status clumpi_post_receive(clump_world *world, clumpi_messages *m, void *data, uint64_t bytes,
                                 int from, int tag);
/* Post one message, which may have 0 bytes. At most message_bytes. */
clump_status clumpi_post_one(clump_world *world, clumpi_messages *m, void *data, uint64_t bytes,
                             int peer, int tag, clumpi_message_kind kind);
/* Wait until some of them are done that were not before: m->done[0 .. count-1]. 0: all were done,
 * and there are none now. `end`: when to give up, of MPI_Wtime(). `what` is for the words. */
clump_status clumpi_messages_next(clump_world *world, clumpi_messages *m, double end,
                                  const char *what, int *count);
/* Wait for all of them. After success there are none. */
clump_status clumpi_messages_wait_until(clump_world *world, clumpi_messages *m, double end,
                                        const char *what);
clump_status clumpi_messages_wait(clump_world *world, clumpi_messages *m, const char *what);
/* The list itself. */
void clumpi_messages_free(clump_world *world, clumpi_messages *m);

/* The sum of the numbers of all lower ranks: 0 for the first. All ranks call it. */
clump_status clumpi_sum_below(clump_world *world, uint64_t number, uint64_t *below,
                              const char *what);

/* Wait for one request of all ranks. */
clump_status clumpi_wait_all_ranks(clump_world *world, MPI_Request *request, const char *what);

/* Memory that messages use: kept in a broken world. */
void clumpi_world_free(const clump_world *world, void *memory);

#endif
