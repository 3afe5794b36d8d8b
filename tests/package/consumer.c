/* Uses an installed Clump without a device: headers are found, the library links and runs. */
#include <clump/all.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    const char *text = "class Cell { uint value; }";
    clump_schema *schema = NULL;
    clump_error error = {0};
    clump_status status = clump_schema_parse(text, strlen(text), NULL, &schema, &error);
    int classes = status == CLUMP_OK ? (int)clump_schema_get_info(schema)->class_count : -1;
    printf("%s: %s, classes: %d\n", CLUMP_VERSION_TEXT, clump_status_name(status), classes);
    clump_schema_destroy(schema);
    return classes == 1 ? 0 : 1;
}
