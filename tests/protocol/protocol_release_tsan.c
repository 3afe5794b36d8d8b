/* A planted fault: frees that do not release. ThreadSanitizer must report a data race on the
 * payload. The program starts itself once more, so that the report ends the child and not the
 * test. */
#define HOSTED_RELEASE_ORDER __ATOMIC_RELAXED
#include "tests/protocol/threads_tsan.h"

#include <sys/wait.h>
#include <unistd.h>

#define RACE_STATUS 66

int main(int argc, char **argv) {
    if (argc > 1) return threads_main(20);
    char options[64];
    snprintf(options, sizeof options, "exitcode=%d halt_on_error=1", RACE_STATUS);
    setenv("TSAN_OPTIONS", options, 1);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", argv[0], "child", (char *)NULL);
        _exit(127);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) return 1;
    int found = WIFEXITED(status) && WEXITSTATUS(status) == RACE_STATUS;
    printf("%s\n", found ? "the race was found" : "the race was NOT found");
    return !found;
}
