/* A schema from text: a lexer and a parser without recursion.
 *
 * The grammar stands in include/clump/schema.h; every decision needs one token. The words of the
 * format (class, ref, packed, ...) are keywords only where the grammar wants one. The parser makes
 * a description of each class and field and declares it as the C API does, with the places of its
 * tokens, so that all rules are checked in one place and every error has a line and a column.
 *
 * Invariant: `at` only moves forward and every byte is looked at a fixed number of times; a token
 * that fits nowhere (a stray byte, a zero byte, a comment without end) is a token all the same and
 * fails where something else is expected. Read first: schema.h.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "schema/schema.h"

typedef enum token_kind {
    TOKEN_END,
    TOKEN_NAME,
    TOKEN_NUMBER,
    TOKEN_MARK, /* one byte of punctuation */
    TOKEN_BAD,  /* bytes that begin no token, or a number with letters in it */
    TOKEN_ZERO_BYTE,
    TOKEN_OPEN_COMMENT, /* a comment without end */
} token_kind;

typedef struct token {
    token_kind kind;
    clumpi_text_place place;
    const char *text; /* in the schema text, not zero-terminated */
    size_t bytes;
    uint32_t value; /* of a number; CLUMPI_NONE if it is that large or larger */
} token;

typedef struct parser {
    const char *text;
    size_t bytes, at;
    clumpi_text_place place; /* of `at` */
    token token;             /* the one to look at */
    clump_schema *schema;
} parser;

/* A name as a C string: cut at one byte more than allowed, so that its check still refuses it. */
typedef struct name_buffer {
    char text[CLUMP_NAME_BYTES_MAX + 2];
} name_buffer;

/* ---- Lexer ----------------------------------------------------------------------------------- */

static int is_digit(char c) {
    return c >= '0' && c <= '9';
}

static int is_name_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c);
}

/* The byte `ahead` bytes on; 0 after the end, which begins no token. */
static char peek(const parser *p, size_t ahead) {
    return p->bytes - p->at > ahead ? p->text[p->at + ahead] : 0;
}

static void step(parser *p) {
    if (p->text[p->at++] == '\n') {
        ++p->place.line;
        p->place.column = 1;
    } else {
        ++p->place.column;
    }
}

/* Skip a comment of either kind. Returns 0, at its end, if its terminator is missing or a zero byte
 * stands in it. */
static int skip_comment(parser *p) {
    int is_block = peek(p, 1) == '*';
    step(p);
    step(p);
    while (p->at < p->bytes) {
        if (!is_block && peek(p, 0) == '\n') return 1;
        if (is_block && peek(p, 0) == '*' && peek(p, 1) == '/') {
            step(p);
            step(p);
            return 1;
        }
        if (!peek(p, 0)) return 0;
        step(p);
    }
    return !is_block;
}

/* Move over white space and comments. Returns 0 if a comment is faulty: then the token is made. */
static int skip_blank(parser *p) {
    while (p->at < p->bytes) {
        char c = peek(p, 0);
        if (c == '/' && (peek(p, 1) == '/' || peek(p, 1) == '*')) {
            token open = {TOKEN_OPEN_COMMENT, p->place, p->text + p->at, 2, 0};
            if (!skip_comment(p)) {
                if (p->at < p->bytes)
                    open = (token){TOKEN_ZERO_BYTE, p->place, p->text + p->at, 1, 0};
                p->token = open;
                return 0;
            }
        } else if (c && strchr(" \t\n\r\v\f", c)) {
            step(p);
        } else {
            return 1;
        }
    }
    return 1;
}

static void read_number(parser *p) {
    uint64_t value = 0;
    for (size_t i = 0; i < p->token.bytes; ++i) {
        if (!is_digit(p->token.text[i])) {
            p->token.kind = TOKEN_BAD;
            return;
        }
        value = value * 10 + (uint64_t)(p->token.text[i] - '0');
        if (value > CLUMPI_NONE) value = CLUMPI_NONE;
    }
    p->token.value = (uint32_t)value;
    /* 010 is eight in C and ten elsewhere. */
    if (p->token.text[0] == '0' && p->token.bytes > 1) p->token.kind = TOKEN_BAD;
}

/* Read the next token. */
static void advance(parser *p) {
    if (!skip_blank(p)) return;
    char c = peek(p, 0);
    p->token = (token){TOKEN_END, p->place, p->text + p->at, 0, 0};
    if (p->at == p->bytes) return;
    if (is_name_byte(c)) {
        p->token.kind = is_digit(c) ? TOKEN_NUMBER : TOKEN_NAME;
        while (is_name_byte(peek(p, 0))) step(p);
    } else if (c && strchr("{}[]:;*,", c)) {
        p->token.kind = TOKEN_MARK;
        step(p);
    } else {
        p->token.kind = c ? TOKEN_BAD : TOKEN_ZERO_BYTE;
        step(p);
        /* The bytes of a UTF-8 character belong together. */
        while ((unsigned char)c >= 0x80 && (unsigned char)peek(p, 0) >= 0x80) step(p);
    }
    p->token.bytes = (size_t)(p->text + p->at - p->token.text);
    if (p->token.kind == TOKEN_NUMBER) read_number(p);
}

static int is_mark(const parser *p, char mark) {
    return p->token.kind == TOKEN_MARK && *p->token.text == mark;
}

static int is_word(const parser *p, const char *word) {
    return p->token.kind == TOKEN_NAME && p->token.bytes == strlen(word) &&
           memcmp(p->token.text, word, p->token.bytes) == 0;
}

static const char *name_of(const parser *p, name_buffer *name) {
    size_t bytes = p->token.bytes;
    if (bytes > sizeof name->text - 1) bytes = sizeof name->text - 1;
    memcpy(name->text, p->token.text, bytes);
    name->text[bytes] = 0;
    return name->text;
}

/* ---- Errors ---------------------------------------------------------------------------------- */

/* The token at hand is not what the grammar wants. `hint`: more words, or "". */
static clump_status fail_expected(parser *p, const char *expected, const char *hint) {
    const token *t = &p->token;
    char quote[CLUMPI_QUOTE_BYTES];
    const char *found = quote;
    if (t->kind == TOKEN_END)
        found = "the end of the text";
    else if (t->kind == TOKEN_ZERO_BYTE)
        found = "a zero byte";
    else
        clumpi_quote(quote, t->text, t->bytes);
    if (t->kind == TOKEN_OPEN_COMMENT)
        return clumpi_fail_at(
            &p->schema->error, CLUMP_ERR_SCHEMA, t->place.line, t->place.column,
            "this comment does not end: expected \"*/\", found the end of the text");
    return clumpi_fail_at(&p->schema->error, CLUMP_ERR_SCHEMA, t->place.line, t->place.column,
                          "expected %s, found %s%s", expected, found, hint);
}

static clump_status fail_class_start(parser *p) {
    static const char *const words[] = {"class", "abstract", "aos", "soa"};
    char hint[CLUMPI_QUOTE_BYTES] = "";
    if (p->token.kind == TOKEN_NAME) {
        name_buffer name;
        clumpi_guess guess = {.wanted = name_of(p, &name)};
        for (size_t i = 0; i < sizeof words / sizeof *words; ++i)
            clumpi_guess_offer(&guess, words[i]);
        clumpi_guess_text(&guess, hint);
    } else if (is_mark(p, ';')) {
        snprintf(hint, sizeof hint, " (no \";\" follows a class)");
    }
    return fail_expected(p, "\"class\", \"abstract\", \"aos\" or \"soa\"", hint);
}

/* No field and no end of the class begins with this token. */
static clump_status fail_field_start(parser *p, const char *class_name) {
    char hint[CLUMPI_QUOTE_BYTES] = "";
    name_buffer name;
    if (is_word(p, "class") || is_word(p, "abstract") || is_word(p, "aos") || is_word(p, "soa")) {
        snprintf(hint, sizeof hint, " (classes do not nest: is the \"}\" of class \"%s\" missing?)",
                 class_name);
    } else if (p->token.kind == TOKEN_NAME) {
        clumpi_guess guess = {.wanted = name_of(p, &name)};
        for (uint32_t type = 0; type < CLUMP_TYPE_REF; ++type)
            for (uint32_t width = 1; width <= 16; ++width)
                clumpi_guess_offer(&guess, clumpi_type_name((clump_type)type, width));
        clumpi_guess_offer(&guess, "ref");
        clumpi_guess_offer(&guess, "weak");
        clumpi_guess_offer(&guess, "raw");
        if (clumpi_schema_find_decl(p->schema, name.text) != CLUMPI_NONE)
            snprintf(hint, sizeof hint, " (a reference is written \"ref %s\")", name.text);
        else
            clumpi_guess_text(&guess, hint);
    } else if (is_mark(p, '{')) {
        snprintf(hint, sizeof hint, " (braces do not nest)");
    }
    return fail_expected(p, "a type, \"ref\" or \"}\"", hint);
}

/* ---- Parser ---------------------------------------------------------------------------------- */

/* A number of elements. */
static clump_status parse_count(parser *p, clumpi_field_desc *field, clumpi_field_places *places,
                                const char *expected) {
    char quote[CLUMPI_QUOTE_BYTES];
    places->count = p->token.place;
    if (p->token.kind != TOKEN_NUMBER) return fail_expected(p, expected, "");
    if (p->token.value == 0) return fail_expected(p, "at least 1 element", "");
    if (p->token.value > CLUMP_OBJECT_BYTES_MAX)
        return clumpi_fail_at(
            &p->schema->error, CLUMP_ERR_SCHEMA, places->count.line, places->count.column,
            "the number %s is too large: an array can have at most %d elements",
            clumpi_quote(quote, p->token.text, p->token.bytes), CLUMP_OBJECT_BYTES_MAX);
    field->count = p->token.value;
    advance(p);
    return CLUMP_OK;
}

/* [ "packed" ], up to the semicolon. */
static clump_status parse_packed(parser *p, clumpi_field_desc *field) {
    if (is_word(p, "packed")) {
        field->packed = 1;
        advance(p);
        return is_mark(p, ';') ? CLUMP_OK : fail_expected(p, "\";\"", "");
    }
    return is_mark(p, ';') ? CLUMP_OK : fail_expected(p, "\"packed\" or \";\"", "");
}

/* What follows "[", up to the semicolon. */
static clump_status parse_array(parser *p, clumpi_field_desc *field, clumpi_field_places *places) {
    clump_status status = CLUMP_OK;
    int is_growing = is_mark(p, '*');
    if (is_growing)
        advance(p);
    else
        status = parse_count(p, field, places, "the number of elements, in decimal, or \"*\"");
    if (status) return status;
    if (!is_mark(p, ']')) return fail_expected(p, "\"]\"", "");
    advance(p);
    if (!is_growing) return parse_packed(p, field);
    field->array = is_word(p, "max") ? CLUMP_ARRAY_BOUNDED : CLUMP_ARRAY_GROWING;
    if (is_mark(p, ';')) return CLUMP_OK;
    if (!is_word(p, "inline") && !is_word(p, "max"))
        return fail_expected(
            p, "\"inline\", \"max\" or \";\"",
            is_word(p, "packed") ? " (only elements in the object can be packed)" : "");
    advance(p);
    status = parse_count(p, field, places, "the number of elements in the object, in decimal");
    return status ? status : parse_packed(p, field);
}

/* One field, up to and with its semicolon. `raw data;` is short for `uchar data[*];`. */
static clump_status parse_field(parser *p, uint32_t class_index, const char *class_name) {
    clumpi_field_desc field = {.type = CLUMP_TYPE_REF};
    clumpi_field_places places = {.type = p->token.place};
    name_buffer name, ref;
    int is_raw = is_word(p, "raw");
    if (is_word(p, "weak")) {
        field.weak = 1;
        advance(p);
        if (!is_word(p, "ref"))
            return fail_expected(p, "\"ref\"", " (only references can be weak)");
    }
    if (is_word(p, "ref")) {
        advance(p);
        if (p->token.kind != TOKEN_NAME)
            return fail_expected(p, "the name of the class referred to", "");
        places.ref = p->token.place;
        field.ref_class = name_of(p, &ref);
    } else if (is_raw) {
        field.type = CLUMP_TYPE_UCHAR;
        field.width = 1;
        field.array = CLUMP_ARRAY_GROWING;
    } else if (p->token.kind != TOKEN_NAME ||
               !clumpi_type_from_name(name_of(p, &name), &field.type, &field.width)) {
        return fail_field_start(p, class_name);
    }
    advance(p);
    if (p->token.kind != TOKEN_NAME) return fail_expected(p, "the name of the field", "");
    places.name = places.count = p->token.place;
    field.name = name_of(p, &name);
    advance(p);
    if (is_raw && !is_mark(p, ';'))
        return fail_expected(p, "\";\"", " (raw memory has no elements)");
    if (is_mark(p, '[')) {
        advance(p);
        clump_status status = parse_array(p, &field, &places);
        if (status) return status;
    }
    if (!is_mark(p, ';'))
        return fail_expected(p, "\"[\" or \";\"",
                             is_word(p, "packed") ? " (only an array can be packed)" : "");
    clump_status status = clumpi_schema_declare_field(p->schema, class_index, &field, &places);
    if (!status) advance(p);
    return status;
}

/* "abstract", "aos" and "soa" in any order, and "class". */
static clump_status parse_modifiers(parser *p, clumpi_class_desc *desc) {
    int has_layout = 0;
    for (; !is_word(p, "class"); advance(p)) {
        clump_class_layout layout = is_word(p, "aos") ? CLUMP_LAYOUT_AOS : CLUMP_LAYOUT_SOA;
        if (is_word(p, "abstract")) {
            desc->is_abstract = 1;
        } else if (is_word(p, "aos") || is_word(p, "soa")) {
            if (has_layout && layout != desc->layout)
                return fail_expected(p, "\"class\"", " (a class has one layout)");
            desc->layout = layout;
            has_layout = 1;
        } else {
            return fail_class_start(p);
        }
    }
    advance(p);
    return CLUMP_OK;
}

/* "becomes" and the names of other classes, up to the opening brace. */
static clump_status parse_becomes(parser *p, uint32_t index) {
    name_buffer name;
    do {
        advance(p);
        if (p->token.kind != TOKEN_NAME)
            return fail_expected(p, "the name of the class that objects become", "");
        clump_status status =
            clumpi_schema_declare_become(p->schema, index, name_of(p, &name), p->token.place);
        if (status) return status;
        advance(p);
    } while (is_mark(p, ','));
    return is_mark(p, '{') ? CLUMP_OK : fail_expected(p, "\",\" or \"{\"", "");
}

/* One class, up to and with its closing brace. */
static clump_status parse_class(parser *p) {
    clumpi_class_desc desc = {0};
    clumpi_class_places places = {{0, 0}, {0, 0}};
    name_buffer name, base;
    clump_status status = parse_modifiers(p, &desc);
    if (status) return status;
    if (p->token.kind != TOKEN_NAME) return fail_expected(p, "the name of the class", "");
    places.name = p->token.place;
    desc.name = name_of(p, &name);
    advance(p);
    if (is_mark(p, ':')) {
        advance(p);
        if (p->token.kind != TOKEN_NAME) return fail_expected(p, "the name of the base class", "");
        places.base = p->token.place;
        desc.base = name_of(p, &base);
        advance(p);
        if (!is_mark(p, '{') && !is_word(p, "becomes"))
            return fail_expected(p, "\"becomes\" or \"{\"", "");
    }
    if (!is_mark(p, '{') && !is_word(p, "becomes"))
        return fail_expected(p, "\":\", \"becomes\" or \"{\"", "");
    status = clumpi_schema_declare_class(p->schema, &desc, &places);
    if (status) return status;
    uint32_t index = (uint32_t)p->schema->class_decl_count - 1;
    if (is_word(p, "becomes")) status = parse_becomes(p, index);
    if (status) return status;
    advance(p);
    while (!is_mark(p, '}')) {
        status = parse_field(p, index, desc.name);
        if (status) return status;
    }
    advance(p);
    return CLUMP_OK;
}

static clump_status parse_text(clump_schema *schema, const char *text, size_t bytes) {
    if (bytes > CLUMP_SCHEMA_TEXT_BYTES_MAX)
        return clumpi_fail_at(&schema->error, CLUMP_ERR_SCHEMA, 1, 1,
                              "the text is too long: it has %zu bytes, and at most %u are allowed",
                              bytes, (unsigned)CLUMP_SCHEMA_TEXT_BYTES_MAX);
    parser p = {.text = text, .bytes = bytes, .place = {1, 1}, .schema = schema};
    advance(&p);
    while (p.token.kind != TOKEN_END) {
        clump_status status = parse_class(&p);
        if (status) return status;
    }
    clump_status status = clumpi_schema_seal(schema);
    if (status == CLUMP_ERR_SCHEMA && !schema->error.line) { /* about the whole, not one place */
        schema->error.line = p.token.place.line;
        schema->error.column = p.token.place.column;
    }
    return status;
}

clump_status clump_schema_parse(const char *text, size_t bytes, const clump_allocator *allocator,
                                clump_schema **schema, clump_error *error) {
    if (error) memset(error, 0, sizeof *error);
    if (schema) *schema = NULL;
    if (!schema || (!text && bytes))
        return clumpi_fail(error, CLUMP_ERR_USAGE,
                           "clump_schema_parse needs a text and a pointer for the schema");
    clump_schema *made;
    clump_status status = clumpi_schema_create(allocator, &made, NULL);
    if (status == CLUMP_ERR_USAGE)
        return clumpi_fail(error, status, "an allocator has three functions, or none");
    if (status) return clumpi_fail(error, status, "no memory for a schema");
    status = parse_text(made, text ? text : "", bytes);
    if (status) {
        if (error) *error = made->error;
        clump_schema_destroy(made);
        return status;
    }
    *schema = made;
    return CLUMP_OK;
}

/* Read up to one byte more than a schema may have, so that the parser can refuse it. */
static clump_status read_file(const char *path, const clump_allocator *a, char **text,
                              size_t *bytes, clump_error *error) {
    char quote[CLUMPI_QUOTE_BYTES];
    clumpi_quote_name(quote, path);
    FILE *file = fopen(path, "rb");
    if (!file)
        return clumpi_fail(error, CLUMP_ERR_IO, "cannot open %s: %s", quote, strerror(errno));
    void *memory = NULL;
    size_t capacity = 0, n = 0, more;
    clump_status status = CLUMP_OK;
    do {
        if (!clumpi_grow(a, &memory, &capacity, n + 4096, 1)) {
            status = clumpi_fail(error, CLUMP_ERR_HOST_MEMORY, "no memory to read %s", quote);
            break;
        }
        more = fread((char *)memory + n, 1, capacity - n, file);
        n += more;
    } while (more && n <= CLUMP_SCHEMA_TEXT_BYTES_MAX);
    if (!status && ferror(file))
        status = clumpi_fail(error, CLUMP_ERR_IO, "cannot read %s: %s", quote, strerror(errno));
    fclose(file);
    *text = memory;
    *bytes = n;
    return status;
}

clump_status clump_schema_parse_file(const char *path, const clump_allocator *allocator,
                                     clump_schema **schema, clump_error *error) {
    if (error) memset(error, 0, sizeof *error);
    if (schema) *schema = NULL;
    if (!schema || !path)
        return clumpi_fail(error, CLUMP_ERR_USAGE,
                           "clump_schema_parse_file needs a path and a pointer for the schema");
    if (!clumpi_schema_allocator_is_whole(allocator))
        return clumpi_fail(error, CLUMP_ERR_USAGE, "an allocator has three functions, or none");
    clump_allocator a = clumpi_allocator_resolve(allocator);
    char *text = NULL;
    size_t bytes = 0;
    clump_status status = read_file(path, &a, &text, &bytes, error);
    if (!status) status = clump_schema_parse(text, bytes, allocator, schema, error);
    clumpi_free(&a, text);
    return status;
}
