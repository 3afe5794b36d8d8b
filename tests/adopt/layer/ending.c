/* A program that ends by exit() in a signal's handler, which comes while the layer asks for memory:
 * the test `layer` runs it.
 *
 *   ending N         at the layer's N-th request for memory from the first context on
 *   ending timer US  at any place, after US microseconds: what a program without the layer does
 *                    then. Not for a test, since it may hang
 *
 * In the first case the handler runs on the thread that asks, inside of the layer: where the layer
 * has its lock, and where it has not. From then on the layer must not ask for memory: a signal
 * comes as well while malloc() has its own lock. exit() ends the layer as Khronos's loader does,
 * with any loader. Exit status 0: it ended so; 3: there is no N-th
 * request; 9: the layer asked for memory later; 77: no device.
 */
#include <CL/cl.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

/* Those of the C library, for which the ones below stand. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);

static volatile sig_atomic_t is_armed, left, is_ending;

static void note(const void *caller) {
    Dl_info found;
    if (!is_armed || !dladdr(caller, &found) || !strstr(found.dli_fname, "libclump-layer")) return;
    if (is_ending) _exit(9);
    if (--left == 0) raise(SIGUSR1);
}

void *malloc(size_t bytes) {
    note(__builtin_return_address(0));
    return __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes) {
    note(__builtin_return_address(0));
    return __libc_calloc(count, bytes);
}
void *realloc(void *memory, size_t bytes) {
    note(__builtin_return_address(0));
    return __libc_realloc(memory, bytes);
}

static cl_int(CL_API_CALL *deinit_layer)(void);

static void end_layer(void) {
    if (deinit_layer) deinit_layer();
}

static void find_end_of_layer(void) {
    const char *path = getenv("OPENCL_LAYERS");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL;
    void *found = library ? dlsym(library, "clDeinitLayer") : NULL;
    memcpy(&deinit_layer, &found, sizeof found);
    atexit(end_layer);
}

static void end(int number) {
    (void)number;
    is_ending = 1;
    exit(0); /* what a handler must not do, and programs do */
}

static void end_at_any_time(cl_context context, long us) {
    const struct itimerval timer = {.it_value = {us / 1000000, us % 1000000}};
    signal(SIGALRM, end);
    setitimer(ITIMER_REAL, &timer, NULL);
    for (;;) clReleaseMemObject(clCreateBuffer(context, CL_MEM_READ_WRITE, 100, NULL, NULL));
}

int main(int count, char **words) {
    cl_platform_id platform;
    cl_device_id device;
    if (clGetPlatformIDs(1, &platform, NULL) ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return 77;
    find_end_of_layer();
    if (count > 2 && strcmp(words[1], "timer") == 0)
        end_at_any_time(clCreateContext(NULL, 1, &device, NULL, NULL, NULL), atol(words[2]));
    signal(SIGUSR1, end);
    left = count > 1 ? atoi(words[1]) : 1;
    is_armed = 1;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    for (int i = 0; i < 4; i++) clCreateBuffer(context, CL_MEM_READ_WRITE, 1000, NULL, NULL);
    clReleaseMemObject(clCreateBuffer(context, CL_MEM_READ_WRITE, 77, NULL, NULL));
    is_armed = 0;
    return 3;
}
