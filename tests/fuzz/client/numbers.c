/* Objects by number: numbers are those of the list of a class, whatever happened before. */
#include "client.h"

void number_all(client *c, heap_model *h) {
    clump_kernel *kernel = c->kernels[KERNEL_number];
    const char *name = c->classes[c->roles.counted].name;
    uint64_t count = 0;
    uint32_t room = count_of(c, h, c->roles.counted);
    note(c, "%u of %s", room, name);
    if (2 * room + 1 > OUT_WORDS) return;
    clump_ref *refs = must_alloc((room + 1) * sizeof *refs);
    fill_out(c, 2 * room + 1, UNTOUCHED);
    SET_NUMBERS(c, kernel, 1, room);
    CHECK_OK(&c->on, clump_heap_do_all(h->heap, kernel, NULL));
    read_out(c, 2 * room + 1);
    CHECK_OK(&c->on, clump_heap_read_refs(h->heap, name, refs, room, &count));
    same_number(c, "objects that have numbers", count, room);
    for (uint32_t i = 0; i < room; i++)
        if (c->out[i] != refs[i] || c->out[room + i] != refs[i])
            complain(c, "number %u is %08x in a loop and %08x by CLUMP_AT, expected %08x", i,
                     c->out[i], c->out[room + i], refs[i]);
    same_number(c, "a number that there is not", c->out[2 * room], 0);
    CHECK_STATUS(&c->on,
                 clump_heap_do_new(h->heap, kernel, c->classes[c->roles.each].name, 1, NULL, NULL),
                 CLUMP_ERR_USAGE);
    free(refs);
}
