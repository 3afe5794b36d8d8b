/* What is printed when something is wrong: seed, schema and all operations of the round. */
#include <signal.h>
#include <unistd.h>

#include "client.h"

static _Thread_local client *at_work; /* NULL between rounds */

static void append_list(text *t, const char *format, va_list list) {
    va_list again;
    va_copy(again, list);
    size_t bytes = (size_t)vsnprintf(NULL, 0, format, again) + 1;
    va_end(again);
    if (t->length + bytes > t->room) {
        t->room = 2 * t->room + bytes + 1024;
        t->at = realloc(t->at, t->room);
        assert_non_null(t->at);
    }
    vsnprintf(t->at + t->length, bytes, format, list);
    t->length += bytes - 1;
}

void text_append(text *t, const char *format, ...) {
    va_list list;
    va_start(list, format);
    append_list(t, format, list);
    va_end(list);
}

void text_clear(text *t) {
    t->length = 0;
    text_append(t, "%s", "");
}

void note(client *c, const char *format, ...) {
    va_list list;
    va_start(list, format);
    append_list(&c->log, format, list);
    va_end(list);
}

void print_round(client *c) {
    printf("\nFAILED at operation %u of the round of seed %llu\n%s\n%s\noperations:%s\n", c->step,
           (ull)c->seed, c->facts.at, c->schema_text.at, c->log.at);
    printf("\nrepeat with: CLUMP_PERSONALITY=%s client %llu 0 %u\n",
           c->personality == CLUMP_PERSONALITY_GPU ? "gpu" : "cpu", (ull)c->seed, c->operations);
    fflush(stdout);
}

/* Of the thread that ends the program. */
static void print_own_round(void) {
    client *c = at_work;
    at_work = NULL;
    if (c) print_round(c);
}

/* Ends the program with 1 when a check of the fixture has ended it with something else. */
static void at_end(void) {
    if (!at_work) return;
    print_own_round();
    fflush(stderr);
    _exit(1);
}

static void on_signal(int number) {
    printf("signal %d\n", number);
    print_own_round();
    _exit(1);
}

void begin_messages(void) {
    atexit(at_end);
    signal(SIGSEGV, on_signal);
    signal(SIGABRT, on_signal);
}

void begin_work(client *c) {
    at_work = c;
}

_Noreturn void complain(client *c, const char *format, ...) {
    va_list list;
    (void)c;
    va_start(list, format);
    printf("DISCREPANCY: ");
    vprintf(format, list);
    printf("\n");
    va_end(list);
    exit(1);
}

void same_number(client *c, const char *what, uint64_t found, uint64_t expected) {
    if (found != expected) complain(c, "%s: %llu, expected %llu", what, (ull)found, (ull)expected);
}
