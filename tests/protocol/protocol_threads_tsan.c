/* Random programs on real threads under ThreadSanitizer; see threads_tsan.h. */
#define THREADS_ROUNDS 400u
#include "tests/protocol/threads_tsan.h"

int main(void) {
    return threads_main(120);
}
