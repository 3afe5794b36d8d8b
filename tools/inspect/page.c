/* Dumps as a page of HTML: page.html with the dumps as JSON in it. Read first: inspect.h,
 * page.html. */
#include <stdlib.h>
#include <string.h>

#include "inspect.h"
#include "page.h"

static const char mark[] = "<!-- dumps -->";

/* JSON in a page: no text of it may look like the end of the script. "<" is in texts only, where it
 * can be written so. */
static void put_json(FILE *file, const char *json) {
    for (; *json; json++)
        if (*json == '<')
            fputs("\\u003c", file);
        else
            fputc(*json, file);
}

/* {"name": ..., "dump": ...}. The dump stays its snapshot's. */
static char *json_of(const snapshot *s) {
    cJSON *entry = cJSON_CreateObject();
    char *json = NULL;
    if (entry && cJSON_AddStringToObject(entry, "name", s->path) &&
        cJSON_AddItemReferenceToObject(entry, "dump", s->dump))
        json = cJSON_PrintUnformatted(entry);
    cJSON_Delete(entry);
    return json;
}

int write_page(const char *path, const snapshot *dumps, size_t count) {
    const char *page = inspect_files[0].data, *place = strstr(page, mark);
    FILE *file = fopen(path, "w");
    int good = file != NULL;
    if (good) fwrite(page, 1, (size_t)(place - page), file);
    for (size_t i = 0; good && i < count; i++) {
        char *json = json_of(&dumps[i]);
        good = json != NULL;
        fputs(i ? ",\n" : "[", file);
        if (good) put_json(file, json);
        free(json);
    }
    if (good) fprintf(file, "]%s", place + strlen(mark));
    if (file && ferror(file)) good = 0;
    if (file && fclose(file)) good = 0;
    if (!good) fprintf(stderr, "clump-inspect: %s: cannot be written\n", path);
    return good;
}
