/* A graph of pages with garbage collection: pages that no root leads to are freed. Roots are
 * references in a buffer of the program and handles of the host. The host walks over the same graph
 * and compares. */
#include <clump/clump.h>
#include <clump/collect.h>
#include <clump/quick.h>
#include <clump/refs.h>

enum { PAGES = 10000, LINKS = 3, ROOTS = 4 };

static const char schema[] =
    "class Page {\n"
    "    uint number;\n"
    "    ref Page link[3];\n"
    "    weak ref Page best;    // keeps nothing alive; null once the page is collected\n"
    "}\n";

static const char kernels[] =
    "uint linked(uint page, uint link) {   // the page that a link leads to; PAGES: no page\n"
    "    uint random = (page * 3 + link) * 2654435761u;\n"
    "    random ^= random >> 15;\n"
    "    return random % 16 < 8 ? PAGES : page / 1000 * 1000 + random / 16 % 1000;\n"
    "}\n"
    "__kernel void make(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH_NEW(Page, self, i) Page_number(self) = i;\n"
    "}\n"
    "__kernel void link_pages(CLUMP_HEAP_NO_ALLOC, CLUMP_NUMBERS) {\n"
    "    CLUMP_FOR_EACH_NUMBERED(Page, self, i) {\n"
    "        for (uint k = 0; k < 3; k++) Page_link(self, k) = CLUMP_AT(Page, linked(i, k));\n"
    "        Page_best(self) = CLUMP_AT(Page, (i + 1) % PAGES);\n"
    "    }\n"
    "}\n"
    "__kernel void count_best(CLUMP_HEAP_NO_ALLOC) {\n"
    "    uint count = 0;\n"
    "    CLUMP_FOR_EACH(Page, self) if (!Page_is_null(Page_best(self))) count++;\n"
    "    CLUMP_REDUCE(uint, count, CLUMP_SUM);\n"
    "}\n";

static uint32_t linked(uint32_t page, uint32_t link) {
    uint32_t number = (page * 3 + link) * 2654435761u;
    number ^= number >> 15;
    return number % 16 < 8 ? PAGES : page / 1000 * 1000 + number / 16 % 1000;
}

/* Marks the pages that the roots lead to, and returns their number. */
static uint32_t reach(const uint32_t *roots, uint32_t count, char reached[PAGES]) {
    static uint32_t queue[PAGES];
    uint32_t first = 0, last = 0;
    memset(reached, 0, PAGES);
    for (uint32_t r = 0; r < count; r++)
        if (!reached[roots[r]]++) queue[last++] = roots[r];
    while (first < last) {
        uint32_t page = queue[first++];
        for (uint32_t k = 0; k < LINKS; k++) {
            uint32_t next = linked(page, k);
            if (next < PAGES && !reached[next]) reached[next] = 1, queue[last++] = next;
        }
    }
    return last;
}

/* Checks that the live pages are exactly the pages that the roots lead to. Returns the number of
 * errors. */
static int compare(clump_quick *q, clump_kernel *count_best, const uint32_t *roots,
                   uint32_t count) {
    static uint32_t numbers[PAGES];
    static char reached[PAGES];
    uint32_t expected = reach(roots, count, reached), best = 0, expected_best = 0;
    uint64_t pages;
    int wrong = 0;
    CLUMP_CHECK(q, clump_heap_read_field(q->heap, "Page", "number", 0, sizeof *numbers, numbers,
                                         PAGES, &pages));
    CLUMP_CHECK(q, clump_heap_reduce(q->heap, count_best, sizeof best, &best, NULL));
    for (uint64_t i = 0; i < pages; i++) wrong += !reached[numbers[i]];
    for (uint32_t i = 0; i < PAGES; i++) expected_best += reached[i] && reached[(i + 1) % PAGES];
    printf("%d pages, %d of them with a best page, %d wrong\n", (int)pages, (int)best, wrong);
    return wrong + (pages != expected) + (best != expected_best);
}

int main(void) {
    clump_quick q;
    clump_quick_desc desc = {
        .schema = schema, .source = kernels, .program = {.options = "-DPAGES=10000u"}};
    CLUMP_CHECK(&q, clump_quick_open(&q, &desc));
    clump_kernel *make = clump_program_get_kernel(q.program, "make");
    clump_kernel *link_pages = clump_program_get_kernel(q.program, "link_pages");
    clump_kernel *count_best = clump_program_get_kernel(q.program, "count_best");
    CLUMP_CHECK(&q, clump_heap_do_new(q.heap, make, "Page", PAGES, NULL, NULL));
    CLUMP_CHECK(&q, clump_heap_do_all(q.heap, link_pages, NULL));

    /* Roots: four pages in a buffer, which kernels could also write, and a fifth by a handle. */
    static clump_ref refs[PAGES];
    const uint32_t roots[ROOTS + 1] = {17, 1234, 5000, 9999, 42};
    clump_ref in_buffer[ROOTS];
    uint64_t count;
    clump_handle handle;
    clump_refs *registered;
    cl_int code;
    CLUMP_CHECK(&q, clump_heap_read_refs(q.heap, "Page", refs, PAGES, &count));
    for (int r = 0; r < ROOTS; r++) in_buffer[r] = refs[roots[r]];
    cl_mem buffer = clCreateBuffer(q.cl, CL_MEM_COPY_HOST_PTR, sizeof in_buffer, in_buffer, &code);
    CLUMP_CHECK(q.cl, code);
    clump_refs_desc refs_desc = {.size = sizeof refs_desc, .buffer = buffer, .count = ROOTS};
    CLUMP_CHECK(&q, clump_refs_create(q.heap, &refs_desc, &registered, NULL));
    CLUMP_CHECK(&q, clump_heap_create_handle(q.heap, refs[roots[ROOTS]], &handle));

    CLUMP_CHECK(&q, clump_heap_collect(q.heap, NULL, NULL, NULL));
    int wrong = compare(&q, count_best, roots, ROOTS + 1);
    clump_refs_destroy(registered); /* only the handle remains */
    CLUMP_CHECK(&q, clump_heap_collect(q.heap, NULL, NULL, NULL));
    wrong += compare(&q, count_best, roots + ROOTS, 1);
    CLUMP_CHECK(&q, clump_heap_destroy_handle(q.heap, handle));
    CLUMP_CHECK(&q, clump_heap_collect(q.heap, NULL, NULL, NULL));
    wrong += compare(&q, count_best, NULL, 0);

    clReleaseMemObject(buffer);
    clump_quick_close(&q);
    return wrong != 0;
}
