/* Records of live memory objects, in a hash table with lists; what is live counts towards the
 * limit. Read first: layer.h. */
#include <stdlib.h>

#include "tools/layer/layer.h"

void layer_objects_settle(void) {
    for (size_t i = 0; i < layer.bucket_count; i++)
        for (layer_object *o = layer.buckets[i]; o; o = o->next) {
            if (o->references || o->place.context || !o->bytes) continue;
            layer_trace_free(o);
            layer.bytes -= o->bytes;
            o->bytes = 0;
        }
}

int layer_bytes_reserve(uint64_t bytes) {
    uint64_t limit = layer.settings.limit_bytes;
    if (layer.is_child) return 1;
    layer_lock();
    int is_allowed = !limit || (bytes <= limit && layer.bytes <= limit - bytes);
    if (!is_allowed) {
        layer_objects_settle();
        is_allowed = bytes <= limit && layer.bytes <= limit - bytes;
    }
    if (is_allowed) layer.bytes += bytes;
    layer.limited += !is_allowed;
    layer_unlock();
    return is_allowed;
}

void layer_bytes_return(uint64_t bytes) {
    if (layer.is_child) return;
    layer_lock();
    layer.bytes -= bytes;
    layer_unlock();
}

/* ---- The table. With the lock held ----------------------------------------------------------- */

static layer_object **bucket_of(const void *handle) {
    uint64_t hash = (uint64_t)(uintptr_t)handle * UINT64_C(0x9E3779B97F4A7C15);
    return &layer.buckets[(size_t)(hash >> 32) & (layer.bucket_count - 1)];
}

static layer_object *find(const void *handle) {
    if (!layer.bucket_count) return NULL;
    layer_object *o = *bucket_of(handle);
    while (o && o->handle != handle) o = o->next;
    return o;
}

static int grow(void) {
    size_t before = layer.bucket_count;
    if (layer.object_count < before) return 1;
    layer_object **old = layer.buckets,
                 **buckets = calloc(before ? 2 * before : 256, sizeof *buckets);
    if (!buckets) return before != 0;
    layer.buckets = buckets;
    layer.bucket_count = before ? 2 * before : 256;
    for (size_t i = 0; i < before; i++)
        for (layer_object *o = old[i], *after; o; o = after) {
            after = o->next;
            layer_object **bucket = bucket_of(o->handle);
            o->next = *bucket;
            *bucket = o;
        }
    free(old);
    return 1;
}

/* serial 0: whichever it is. */
static layer_object *take_out(const void *handle, uintptr_t serial) {
    if (!layer.bucket_count) return NULL;
    layer_object **at = bucket_of(handle);
    while (*at && ((*at)->handle != handle || (serial && (*at)->serial != serial)))
        at = &(*at)->next;
    layer_object *o = *at;
    if (!o) return NULL;
    *at = o->next;
    layer.object_count--;
    layer.bytes -= o->bytes;
    layer_trace_free(o);
    return o;
}

/* ---- Objects --------------------------------------------------------------------------------- */

static void forget(layer_object *o) {
    if (!o) return;
    if (o->place.parent) {
        layer_object_hide(o->place.parent, -!o->place.answers->retains_parent);
        if (atomic_load(&layer.in_use)) layer.target->clReleaseMemObject(o->place.parent);
    }
    if (o->place.context) layer_context_forget(o->place.context);
    free(o);
}

static void remove_serial(const void *handle, uintptr_t serial) {
    if (layer.is_child) return;
    layer_lock();
    layer_object *o = take_out(handle, serial);
    layer_unlock();
    forget(o);
}

/* A driver may call it when another object has the handle: `user` is the serial of the one that
 * ended. */
static void CL_CALLBACK gone(cl_mem handle, void *user) {
    remove_serial(handle, (uintptr_t)user);
}

void layer_object_remove(const void *handle) {
    remove_serial(handle, 0);
}

int layer_object_add(layer_kind kind, void *handle, uint64_t bytes, const layer_place *place) {
    layer_object *o = layer.is_child ? NULL : calloc(1, sizeof *o);
    if (!o) return 0;
    *o = (layer_object){.handle = handle, .bytes = bytes, .kind = kind, .references = 1};
    if (place) o->place = *place;
    layer_place_note(o);
    layer_lock();
    o->serial = ++layer.serials;
    layer_unlock();
    o->has_callback = kind < LAYER_SVM && layer.target->clSetMemObjectDestructorCallback(
                                              handle, gone, (void *)o->serial) ==
                                              CL_SUCCESS; /* NOLINT(performance-no-int-to-ptr) */
    layer_lock();
    int is_added = grow() && (o->has_callback || !place);
    layer_object *before = is_added ? find(handle) : NULL; /* its end was not told yet */
    if (before && !before->references)
        before = take_out(handle, before->serial);
    else
        before = NULL;
    if (is_added) {
        layer_object **bucket = bucket_of(handle);
        o->next = *bucket;
        *bucket = o;
        layer.object_count++;
        o->number = ++layer.objects;
        if (layer.bytes > layer.bytes_peak) layer.bytes_peak = layer.bytes;
        layer_trace_alloc(o);
    }
    layer_unlock();
    forget(before);
    if (!is_added) free(o);
    return is_added;
}

void layer_object_retain(const void *handle) {
    if (layer.is_child) return;
    layer_lock();
    layer_object *o = find(handle);
    if (o) o->references++;
    layer_unlock();
}

void layer_object_release(const void *handle) {
    if (layer.is_child) return;
    layer_lock();
    layer_object *o = find(handle);
    if (o && o->references) o->references--;
    o = o && !o->references && !o->has_callback ? take_out(handle, 0) : NULL;
    layer_unlock();
    forget(o);
}

int layer_object_place(const void *handle, layer_place *place) {
    if (layer.is_child) return 0;
    layer_lock();
    const layer_object *o = find(handle);
    int is_pooled = o && o->place.context;
    if (is_pooled) *place = o->place;
    layer_unlock();
    return is_pooled;
}

cl_uint layer_object_hide(const void *handle, int more) {
    layer_lock();
    layer_object *o = find(handle);
    if (o) o->hidden += (cl_uint)more;
    cl_uint hidden = o ? o->hidden : 0;
    layer_unlock();
    return hidden;
}

int layer_object_map(const void *handle, int more) {
    if (layer.is_child) return 0;
    layer_lock();
    layer_object *o = find(handle);
    int changes = o && o->place.context && (more > 0 || o->maps);
    if (changes) {
        o->maps += (cl_uint)more;
        changes = o->place.context->device->map_retains;
    }
    layer_unlock();
    return changes;
}

cl_uint layer_object_maps(const void *handle) {
    layer_lock();
    const layer_object *o = find(handle);
    cl_uint maps = o ? o->maps : 0;
    layer_unlock();
    return maps;
}
