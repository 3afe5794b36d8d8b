/* Loaders as the layer may meet them: the test `layer` runs it.
 *
 *   loader ends LAYER   this program is a loader of 2026: it begins and ends the layer by the calls
 *                       that the extension cl_loader_layers has got in 2025, twice
 *   loader two PATH     two loaders use the layer: the one that is linked, and the one at PATH
 *   loader unseen PATH  the one at PATH does not load it
 *
 * Exit status 0: all was as expected; 77: there is no OpenCL device.
 */
#include <CL/cl_layer.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef CL_LAYER_PROPERTIES_LIST_END
typedef cl_properties cl_layer_properties;
#endif

static int failures;

#define CHECK(condition) check((condition), #condition, __LINE__)
static void check(int is_so, const char *words, int line) {
    if (is_so) return;
    printf("line %d: not so: %s\n", line, words);
    failures++;
}

/* dlsym() gives a pointer to an object. */
static void find(void *library, const char *name, void *function) {
    void *found = dlsym(library, name);
    if (!found) {
        printf("%s is not there\n", name);
        exit(1);
    }
    memcpy(function, &found, sizeof found);
}
#define FIND(library, name) find(library, #name, &name##_of)

typedef cl_int(CL_API_CALL *platforms_fn)(cl_uint, cl_platform_id *, cl_uint *);
typedef cl_int(CL_API_CALL *devices_fn)(cl_platform_id, cl_device_type, cl_uint, cl_device_id *,
                                        cl_uint *);
static cl_device_id first_device(platforms_fn platforms, devices_fn devices) {
    cl_platform_id platform;
    cl_device_id device;
    if (platforms(1, &platform, NULL) || devices(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)) {
        printf("there is no OpenCL device\n");
        exit(77);
    }
    return device;
}

/* ---- A loader of 2026 ------------------------------------------------------------------------ */

static cl_icd_dispatch below; /* the driver's */
static int has_ended;

static cl_int CL_API_CALL release(cl_mem object) {
    CHECK(!has_ended);
    return below.clReleaseMemObject(object);
}

/* Begins, leaves a buffer of some bytes, and ends. */
static void use(void *library, cl_device_id device, const cl_layer_properties *properties,
                size_t bytes) {
    cl_int(CL_API_CALL * clInitLayerWithProperties_of)(cl_uint, const cl_icd_dispatch *, cl_uint *,
                                                       const cl_icd_dispatch **,
                                                       const cl_layer_properties *);
    cl_int(CL_API_CALL * clDeinitLayer_of)(void);
    static const cl_layer_properties unknown[] = {1, 2, 0};
    const cl_icd_dispatch *layer = NULL;
    cl_icd_dispatch target = below;
    cl_int code = CL_SUCCESS;
    cl_uint entries = 0, count = sizeof target / sizeof(void *);
    target.clReleaseMemObject = release;
    FIND(library, clInitLayerWithProperties);
    FIND(library, clDeinitLayer);
    CHECK(clInitLayerWithProperties_of(count, &target, &entries, &layer, unknown) ==
          CL_INVALID_PROPERTY);
    CHECK(!clInitLayerWithProperties_of(count, &target, &entries, &layer, properties));
    CHECK(layer && entries == count);
    has_ended = 0;
    cl_context context = layer->clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    CHECK(!code);
    cl_mem left = layer->clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    CHECK(left && !code);
    const cl_buffer_region region = {0, 16};
    cl_mem part = layer->clCreateSubBuffer(left, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    CHECK(part && !code);
    cl_mem released = layer->clCreateBuffer(context, CL_MEM_READ_WRITE, 77, NULL, &code);
    CHECK(released && !code && !layer->clReleaseMemObject(released));
    CHECK(!clDeinitLayer_of());
    has_ended = 1;
    below.clReleaseMemObject(part); /* the driver tells the layer of it, which must not call it */
}

static int loader_of_2026(const char *path) {
    static const cl_layer_properties none[] = {0};
    cl_device_id device = first_device(clGetPlatformIDs, clGetDeviceIDs);
    memcpy(&below, *(cl_icd_dispatch **)device, sizeof below);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        printf("%s\n", dlerror());
        return 1;
    }
    use(library, device, NULL, 1000);
    use(library, device, none, 2000);
    return failures != 0;
}

/* ---- Two loaders ----------------------------------------------------------------------------- */

/* The first one is at `path`, if the linked one has not been used. Each releases what the other
 * made, which OpenCL allows since handles are the driver's. */
static int two_loaders(const char *path, int closes) {
    typedef void(CL_CALLBACK * notifier)(const char *, const void *, size_t, void *);
    platforms_fn clGetPlatformIDs_of;
    devices_fn clGetDeviceIDs_of;
    cl_context(CL_API_CALL * clCreateContext_of)(const cl_context_properties *, cl_uint,
                                                 const cl_device_id *, notifier, void *, cl_int *);
    cl_context(CL_API_CALL * clCreateContextFromType_of)(
        const cl_context_properties *, cl_device_type, notifier, void *, cl_int *);
    cl_mem(CL_API_CALL * clCreateBuffer_of)(cl_context, cl_mem_flags, size_t, void *, cl_int *);
    cl_int(CL_API_CALL * clReleaseMemObject_of)(cl_mem);
    cl_int(CL_API_CALL * clReleaseContext_of)(cl_context);
    cl_int code[4];
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        printf("%s\n", dlerror());
        return 1;
    }
    FIND(library, clGetPlatformIDs);
    FIND(library, clGetDeviceIDs);
    FIND(library, clCreateContext);
    FIND(library, clCreateContextFromType);
    FIND(library, clCreateBuffer);
    FIND(library, clReleaseMemObject);
    FIND(library, clReleaseContext);
    cl_device_id device = first_device(clGetPlatformIDs_of, clGetDeviceIDs_of);
    cl_context other = clCreateContext_of(NULL, 1, &device, NULL, NULL, &code[0]);
    cl_context of_type = clCreateContextFromType_of(NULL, CL_DEVICE_TYPE_ALL, NULL, NULL, &code[1]);
    CHECK(!code[0] && !code[1] && !clReleaseContext_of(of_type));
    device = first_device(clGetPlatformIDs, clGetDeviceIDs);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code[0]);
    CHECK(!code[0]);
    cl_mem a = clCreateBuffer(context, CL_MEM_READ_WRITE, 1000, NULL, &code[0]);
    cl_mem b = clCreateBuffer_of(other, CL_MEM_READ_WRITE, 2000, NULL, &code[1]);
    cl_mem large = clCreateBuffer_of(other, CL_MEM_READ_WRITE, 1 << 20, NULL, &code[2]);
    cl_mem left = clCreateBuffer_of(other, CL_MEM_READ_WRITE, 77, NULL, &code[3]);
    CHECK(!code[0] && !code[1] && left && !code[3]);
    printf("1 MiB: %d\n", code[2]);
    if (!code[2]) clReleaseMemObject_of(large);
    CHECK(!clReleaseMemObject_of(a) && !clReleaseMemObject(b));
    CHECK(!clReleaseContext_of(context) && !clReleaseContext(other));
    if (closes) dlclose(library); /* calls through the linked one go on */
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &code[0]);
    a = clCreateBuffer(context, CL_MEM_READ_WRITE, 1000, NULL, &code[1]);
    CHECK(!code[0] && !code[1] && !clReleaseMemObject(a) && !clReleaseContext(context));
    return failures != 0;
}

int main(int count, char **words) {
    if (count != 3) return 2;
    if (strcmp(words[1], "ends") == 0) return loader_of_2026(words[2]);
    if (strcmp(words[1], "two") == 0) return two_loaders(words[2], 1);
    first_device(clGetPlatformIDs, clGetDeviceIDs);
    unsetenv("OPENCL_LAYERS");
    return two_loaders(words[2], 0);
}
