/* Fused loops: one kernel of several, made of the text of their program.
 *
 * May use: heap.
 *
 *   tokens.c   the text as tokens, with the macros that it defines
 *   expand.c   tokens with the macros expanded
 *   touches.c  which fields a piece of code uses, and how
 *   loops.c    a kernel that is one loop, in its parts
 *   fuse.c     which loops may be fused, the text of the kernel, its launch
 *
 * Invariant: what these files do not understand they refuse. A field that a kernel uses is among
 * its touches, and as written or of another object if that cannot be excluded.
 *
 * Read first: include/clump/fuse.h, heap/program.h.
 */
#ifndef CLUMPI_FUSE_H
#define CLUMPI_FUSE_H

#include "clump/fuse.h"
#include "heap/program.h"

/* ---- tokens.c ---- */

typedef enum clumpi_token_kind {
    CLUMPI_TOKEN_WORD,
    CLUMPI_TOKEN_NUMBER,
    CLUMPI_TOKEN_LITERAL,
    CLUMPI_TOKEN_SIGN,
    CLUMPI_TOKEN_DIRECTIVE /* a line of the preprocessor that defines no macro */
} clumpi_token_kind;

typedef struct clumpi_token {
    const char *at; /* in a text that lives as long as the program */
    uint32_t bytes, line;
    clumpi_token_kind kind;
} clumpi_token;

typedef struct clumpi_tokens {
    clumpi_token *all;
    size_t count, capacity;
} clumpi_tokens;

/* Part of some tokens: [begin, end). */
typedef struct clumpi_range {
    size_t begin, end;
} clumpi_range;

typedef struct clumpi_macro {
    clumpi_token name;
    clumpi_range parameters, body; /* of clumpi_reading.replacements */
    int is_function, is_active;
    int is_doubtful; /* defined more than once, or undefined, or variadic */
    uint32_t line;   /* of its definition; 0: an option of the build */
} clumpi_macro;

/* A program's source, read. The first failure is in the context's error and in `status`. */
typedef struct clumpi_reading {
    clump_context *context;
    const clump_program *program;
    const clump_schema *schema;
    const char *kernel; /* that is being read, for messages */
    clumpi_tokens code, replacements;
    clumpi_macro *macros;
    size_t macro_count, macro_capacity;
    int expansion;  /* a clumpi_expansion */
    uint32_t calls; /* of functions that were followed */
    clump_status status;
} clumpi_reading;

/* Read the source and the options of r->program. */
clump_status clumpi_reading_open(clumpi_reading *r);
void clumpi_reading_close(clumpi_reading *r);

/* Words about the kernel that is being read; `where` may be NULL. Returns r->status, the first
 * failure. */
clump_status clumpi_refuse(clumpi_reading *r, const clumpi_token *where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
clump_status clumpi_reading_no_room(clumpi_reading *r);

int clumpi_token_is(const clumpi_token *t, const char *text);
int clumpi_token_same(const clumpi_token *a, const clumpi_token *b);
/* Its text, cut to the size of `name`, which is returned. */
#define CLUMPI_TOKEN_TEXT_BYTES 132u
const char *clumpi_token_text(const clumpi_token *t, char name[CLUMPI_TOKEN_TEXT_BYTES]);
int clumpi_tokens_add(clumpi_reading *r, clumpi_tokens *tokens, clumpi_token t);
/* Is it an opening bracket, a closing one? */
int clumpi_token_opens(const clumpi_token *t);
int clumpi_token_closes(const clumpi_token *t);
/* The bracket that closes the one at `open`; `end` if none does. */
size_t clumpi_token_close(const clumpi_tokens *tokens, size_t open, size_t end);
/* The end of the statement that begins at `at`, which no macro hides; `end` if it does not end
 * before. */
size_t clumpi_statement_end(const clumpi_tokens *tokens, size_t at, size_t end);
/* The range of the next argument of a list that ends at `end`; 0: there is none. list->begin moves
 * past it. */
int clumpi_next_argument(const clumpi_tokens *tokens, clumpi_range *list, clumpi_range *argument);

/* ---- expand.c ---- */

clumpi_macro *clumpi_macro_find(clumpi_reading *r, const clumpi_token *name);
typedef enum clumpi_expansion {
    CLUMPI_EXPAND_IN_PLACE, /* macros that are defined later do not hold */
    CLUMPI_EXPAND_MOVED,    /* code that comes to stand at the end of the text, where they would */
    CLUMPI_EXPAND_ROUGHLY   /* macros that cannot be expanded stay */
} clumpi_expansion;

/* Append a part of r->code with its macros expanded; lines are those of the code. */
clump_status clumpi_expand(clumpi_reading *r, clumpi_range part, clumpi_expansion how,
                           clumpi_tokens *to);

/* ---- touches.c ---- */

enum {
    CLUMPI_OWN_READ = 1,
    CLUMPI_OWN_WRITE = 2,
    CLUMPI_OTHER_READ = 4,
    CLUMPI_OTHER_WRITE = 8,
    CLUMPI_WAYS = 4 /* how many of them there are */
};

typedef struct clumpi_touch {
    uint32_t class_id;           /* that declares the field */
    const char *field;           /* of the schema */
    uint32_t ways;               /* a sum */
    uint32_t lines[CLUMPI_WAYS]; /* where it is first done so */
} clumpi_touch;

typedef struct clumpi_touches {
    clumpi_touch *all;
    size_t count, capacity;
    int writes_buffers; /* it makes pointers by which it may write to any buffer that it has */
} clumpi_touches;

/* What code may do. */
typedef struct clumpi_code_rules {
    const clumpi_token *self; /* the loop's object, or NULL */
    const clumpi_token *kept; /* names that it must not change, */
    size_t kept_count;
    int is_pure;   /* no fields, no effects */
    int is_kernel; /* no return */
} clumpi_code_rules;

/* Add what a part of r->code touches. */
clump_status clumpi_touches_add(clumpi_reading *r, clumpi_range part,
                                const clumpi_code_rules *rules, clumpi_touches *touches);

/* Add what a function of two values, or a macro, touches. */
clump_status clumpi_touches_add_combiner(clumpi_reading *r, clumpi_range name,
                                         clumpi_touches *touches);

/* ---- loops.c ---- */

typedef struct clumpi_loop_parameter {
    clumpi_range all;         /* of clumpi_loop.tokens */
    size_t name;              /* likewise */
    int is_pointer, is_const; /* to what the kernel does not write */
} clumpi_loop_parameter;

typedef struct clumpi_loop {
    const char *kernel;                /* its name */
    clumpi_tokens tokens;              /* the parameters, expanded */
    clumpi_loop_parameter *parameters; /* after the heap */
    size_t parameter_count, parameter_capacity;
    clumpi_tokens kept; /* names of the parameters, and of what is declared before the loop */
    clump_class_info class_info;
    clumpi_token self;
    clumpi_range before, body, reduce; /* of the code; empty: there is none */
    clumpi_touches touches;
} clumpi_loop;

/* Take the kernel apart, and say what it touches. The caller closes the loop, after a failure
 * too. */
clump_status clumpi_loop_open(clumpi_reading *r, clumpi_loop *loop, const char *kernel,
                              int is_last);
void clumpi_loop_close(clumpi_reading *r, clumpi_loop *loop);

#endif
