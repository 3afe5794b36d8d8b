/* Clump for C++17: owning objects that move, errors as exceptions, spans for fields. Header only,
 * on top of clump.h. The comments of the C headers describe each call and are not repeated here.
 *
 *   clump::context context = clump::context::open("gpu");      // or from a context and queue of
 *                             your own
 *   clump::heap heap(context, clump::schema("class Body { float x; }"), 64 << 20);
 *   clump::program program(heap, source);
 *   clump::kernel init = program.kernel("init"), move = program.kernel("move");
 *   heap.do_new(init, "Body", 1000);
 *   heap.do_all(move.set_args(0.5f));
 *   std::vector<float> x = heap.read_field<float>("Body", "x");
 *
 * Most members have the name of the C function without the object and without `get`:
 * clump_heap_read_count() is heap.read_count(), clump_heap_get_info() is heap.info().
 *
 * Every call that fails throws clump::error, with two exceptions: heap.take_errors() and
 * heap.repair() return their reports. For C functions without a member, call get(), and pass the
 * status to check(), which throws: `context.check(clump_heap_check(heap.get()))`.
 *
 * The header uses OpenCL's objects as cl_context, cl_mem and so on. With opencl.hpp,
 * `clump::context context(cl(), device(), queue())` makes a context, and a cl::Buffer can be a
 * parameter of set_args(). `cl::Buffer(heap.info().buffer, true)` is the heap's buffer (true:
 * retained). `&event()` of a cl::Event is a cl_event * for clump_sync.
 *
 * Objects may be destroyed in any order, with two exceptions: destroy a `handle` before its heap,
 * and an `allocation` before its pool.
 *
 * Threads: as in C. Objects made from one context belong to one thread at a time.
 *
 * Read first: clump.h.
 */
#ifndef CLUMP_CLUMP_HPP
#define CLUMP_CLUMP_HPP

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "clump/all.h"
#include "clump/quick.h"

namespace clump {

/* ---- Errors ---------------------------------------------------------------------------------- */

/* A failure of a call. what() is "CLUMP_ERR_SCHEMA in line 2, column 5: the error message". */
class error : public std::runtime_error {
   public:
    explicit error(const clump_error &e)
        : std::runtime_error(std::string(clump_status_name(e.status)) + place(e) +
                             (e.message[0] ? std::string(": ") + e.message : "")),
          status_(e.status),
          cl_code_(e.cl_code),
          line_(e.line),
          column_(e.column) {
    }
    error(clump_status status, const std::string &words)
        : std::runtime_error(clump_status_name(status) + (words.empty() ? "" : ": " + words)),
          status_(status),
          cl_code_(0),
          line_(0),
          column_(0) {
    }

    clump_status status() const noexcept {
        return status_;
    }
    std::int32_t cl_code() const noexcept {
        return cl_code_;
    } /* 0 if no OpenCL call failed */
    std::uint32_t line() const noexcept {
        return line_;
    } /* of a schema or a source, else 0 */
    std::uint32_t column() const noexcept {
        return column_;
    }

   private:
    static std::string place(const clump_error &e) {
        if (!e.line || e.status != CLUMP_ERR_SCHEMA) return "";
        return " in line " + std::to_string(e.line) + ", column " + std::to_string(e.column);
    }
    clump_status status_;
    std::int32_t cl_code_;
    std::uint32_t line_, column_;
};

/* ---- Sizes ----------------------------------------------------------------------------------- */

/* A struct of the C headers with its size set, and all else zero or copied: for calls through
 * get(). The calls of this header set the size themselves. */
template <class T>
T sized(T given = T{}) noexcept {
    given.size = sizeof given;
    return given;
}

/* ---- Spans ----------------------------------------------------------------------------------- */

/* Adjacent elements that another object owns: of an array, a vector, a std::span. */
template <class T>
class span {
   public:
    span() noexcept = default;
    span(T *data, std::size_t size) noexcept : data_(data), size_(size) {
    }
    template <std::size_t N>
    span(T (&array)[N]) noexcept : data_(array), size_(N) {
    }
    template <
        class Container,
        class = std::enable_if_t<std::is_convertible_v<
            std::remove_pointer_t<decltype(std::declval<Container &>().data())> (*)[], T (*)[]>>>
    span(Container &&container) noexcept : data_(container.data()), size_(container.size()) {
    }

    T *data() const noexcept {
        return data_;
    }
    std::size_t size() const noexcept {
        return size_;
    }
    T *begin() const noexcept {
        return data_;
    }
    T *end() const noexcept {
        return data_ + size_;
    }
    T &operator[](std::size_t i) const noexcept {
        return data_[i];
    }

   private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

/* ---- Owners ---------------------------------------------------------------------------------- */

namespace detail {

/* Owns an object of the library. Empty after a move from it. */
template <class T, void (*Destroy)(T *)>
class owner {
   public:
    owner() noexcept = default;
    explicit owner(T *object) noexcept : object_(object) {
    }
    owner(owner &&other) noexcept : object_(std::exchange(other.object_, nullptr)) {
    }
    owner &operator=(owner &&other) noexcept {
        if (this != &other) Destroy(std::exchange(object_, std::exchange(other.object_, nullptr)));
        return *this;
    }
    owner(const owner &) = delete;
    owner &operator=(const owner &) = delete;
    ~owner() {
        Destroy(object_);
    }

    T *get() const noexcept {
        return object_;
    }

   private:
    T *object_ = nullptr;
};

/* The context of everything made from it. It has the error of a failure. */
using shared_context = std::shared_ptr<clump_context>;

inline void check(const shared_context &context, clump_status status) {
    if (status == CLUMP_OK) return;
    const clump_error *e = clump_context_get_error(context.get());
    if (e->status == status) throw error(*e);
    throw error(status, "");
}

/* operator() of a cl::Buffer, cl::Sampler and the like returns the object of OpenCL. */
template <class T, class = void>
struct is_wrapper : std::false_type {};
template <class T>
struct is_wrapper<T, std::void_t<decltype(std::declval<const T &>()())>>
    : std::is_pointer<std::decay_t<decltype(std::declval<const T &>()())>> {};

}  // namespace detail

/* ---- Schema ---------------------------------------------------------------------------------- */

class schema {
   public:
    explicit schema(std::string_view text) {
        clump_error e;
        clump_schema *made = nullptr;
        if (clump_schema_parse(text.data(), text.size(), nullptr, &made, &e)) throw error(e);
        schema_ = owner(made);
    }
    static schema from_file(const std::string &path) {
        clump_error e;
        clump_schema *made = nullptr;
        if (clump_schema_parse_file(path.c_str(), nullptr, &made, &e)) throw error(e);
        return schema(made);
    }
    /* Becomes the owner of a schema. */
    explicit schema(clump_schema *made) noexcept : schema_(made) {
    }

    clump_schema *get() const noexcept {
        return schema_.get();
    }

   private:
    using owner = detail::owner<clump_schema, clump_schema_destroy>;
    owner schema_;
};

/* ---- Context --------------------------------------------------------------------------------- */

/* Finds a device by terms (quick.h). */
inline cl_device_id find_device(const std::string &words = "") {
    cl_device_id device = nullptr;
    clump_error e;
    if (clump_quick_find_device(words.c_str(), &device, nullptr, &e)) throw error(e);
    return device;
}

class context {
   public:
    explicit context(const clump_context_desc &desc) : cl_(desc.context), device_(desc.device) {
        clump_error e;
        clump_context *made = nullptr;
        const auto with = sized(desc);
        if (clump_context_create(&with, &made, &e)) throw error(e);
        context_ = detail::shared_context(made, clump_context_destroy);
    }
    context(cl_context cl, cl_device_id device, cl_command_queue queue)
        : context(describe(cl, device, queue)) {
    }

    /* Makes a new context and queue, on a device that is found by terms (quick.h). */
    static context open(const std::string &words = "") {
        clump_quick q;
        clump_quick_desc desc{};
        desc.device = words.c_str();
        if (clump_quick_open(&q, &desc)) throw error(q.error);
        struct closer {
            clump_quick *of;
            ~closer() {
                clump_quick_close(of);
            }
        } close{&q};
        return context(q.cl, q.device, q.queue); /* retains them */
    }

    void check(clump_status status) const {
        detail::check(context_, status);
    }
    clump_context *get() const noexcept {
        return context_.get();
    }
    const detail::shared_context &share() const noexcept {
        return context_;
    }
    cl_context cl() const noexcept {
        return cl_;
    } /* valid as long as the context, like these */
    cl_device_id device() const noexcept {
        return device_;
    }
    /* The queue on which calls enqueue now. set_queue() sets another one, or with nullptr the first
     * one (context.h). */
    cl_command_queue queue() const noexcept {
        return clump_context_get_info(context_.get())->queue;
    }
    void set_queue(cl_command_queue queue) const {
        check(clump_context_set_queue(context_.get(), queue));
    }
    const clump_capabilities &capabilities() const noexcept {
        return *clump_context_get_info(context_.get())->capabilities;
    }

   private:
    static clump_context_desc describe(cl_context cl, cl_device_id device, cl_command_queue queue) {
        auto desc = sized<clump_context_desc>();
        desc.context = cl;
        desc.device = device;
        desc.queue = queue;
        return desc;
    }
    detail::shared_context context_;
    cl_context cl_;
    cl_device_id device_;
};

/* ---- Kernels --------------------------------------------------------------------------------- */

/* Local memory as a parameter of a kernel. */
struct local {
    std::size_t bytes;
};

class kernel {
   public:
    kernel(detail::shared_context context, clump_kernel *made) noexcept
        : context_(std::move(context)), kernel_(made) {
    }

    /* Sets one parameter, from 0 after the heap: a value, local{bytes}, a cl_mem, or a wrapper such
     * as cl::Buffer. */
    template <class T>
    kernel &set_arg(std::uint32_t index, const T &value) {
        if constexpr (std::is_same_v<T, local>) {
            detail::check(context_, clump_kernel_set_arg(get(), index, value.bytes, nullptr));
        } else if constexpr (detail::is_wrapper<T>::value) {
            const auto object = value();
            detail::check(context_, clump_kernel_set_arg(get(), index, sizeof object, &object));
        } else {
            static_assert(std::is_trivially_copyable_v<T>, "a kernel gets a copy of the bytes");
            static_assert(!std::is_same_v<T, bool>, "OpenCL C has no parameters of type bool");
            detail::check(context_, clump_kernel_set_arg(get(), index, sizeof value, &value));
        }
        return *this;
    }
    /* Sets the first parameters, in their order. */
    template <class... T>
    kernel &set_args(const T &...values) {
        std::uint32_t index = 0;
        (set_arg(index++, values), ...);
        return *this;
    }

    /* Makes one kernel of this one and others, for one launch (clump/fuse.h). Each launch uses
     * their present parameters. */
    template <class... Kernels>
    kernel fuse(const Kernels &...others) const {
        clump_kernel *const all[] = {get(), others.get()...};
        clump_kernel *made = nullptr;
        detail::check(context_,
                      clump_kernel_create_fused(all, sizeof all / sizeof *all, &made, NULL));
        return kernel(context_, made);
    }

    std::uint32_t arg_count() const noexcept {
        return clump_kernel_get_arg_count(get());
    }
    clump_kernel *get() const noexcept {
        return kernel_.get();
    }

   private:
    detail::shared_context context_;
    detail::owner<clump_kernel, clump_kernel_destroy> kernel_;
};

/* ---- Heap ------------------------------------------------------------------------------------ */

/* Arrays of run-time length: the elements of array i are values[offsets[i]] .. values[offsets[i +
 * 1] - 1]. */
template <class T>
struct arrays {
    std::vector<std::uint64_t> offsets{0};
    std::vector<T> values;
};

class heap {
   public:
    heap(const context &on, const clump_heap_desc &desc) : context_(on.share()) {
        auto with = sized(desc);
        clump_heap *made = nullptr;
        with.context = on.get();
        detail::check(context_, clump_heap_create(&with, &made, NULL));
        heap_ = owner(made);
    }
    /* buffer_bytes: size of the largest buffer. evictable_bytes: upper limit for evict(). */
    heap(const context &on, const clump::schema &classes, std::uint64_t bytes,
         std::uint64_t buffer_bytes = 0, std::uint64_t evictable_bytes = 0)
        : heap(on, describe(classes, bytes, buffer_bytes, evictable_bytes)) {
    }

    clump_heap *get() const noexcept {
        return heap_.get();
    }
    const detail::shared_context &share() const noexcept {
        return context_;
    }
    const clump_heap_info &info() const noexcept {
        return *clump_heap_get_info(get());
    }

    /* The bytes of a heap for so many objects of class 1, 2, ... */
    static std::uint64_t bytes_needed(const context &on, const clump_heap_desc &desc,
                                      span<const std::uint64_t> objects) {
        auto with = sized(desc);
        std::uint64_t bytes = 0;
        with.context = on.get();
        if (objects.size() != clump_schema_get_info(desc.schema)->class_count)
            throw error(CLUMP_ERR_USAGE, "there must be a number for each class");
        on.check(clump_heap_get_bytes_needed(&with, objects.data(), &bytes, NULL));
        return bytes;
    }
    static std::uint64_t bytes_needed(const context &on, const clump::schema &classes,
                                      span<const std::uint64_t> objects) {
        return bytes_needed(on, describe(classes, 0, 0, 0), objects);
    }

    /* For kernels that the caller builds from program::source() and enqueues. */
    void set_kernel(cl_kernel of_caller) {
        check(clump_heap_set_kernel(get(), of_caller));
    }
    void touch() noexcept {
        clump_heap_touch(get());
    }

    /* Launches. They do not wait, except do_new_counted() and reduce(). */
    void do_all(const kernel &with, const clump_sync *sync = nullptr) {
        check(clump_heap_do_all(get(), with.get(), sync));
    }
    void launch(const kernel &with, std::size_t global, std::size_t local_size,
                const clump_sync *sync = nullptr) {
        check(clump_heap_launch(get(), with.get(), global, local_size, sync));
    }
    void do_new(const kernel &with, const std::string &of, std::uint64_t count,
                const clump_sync *sync = nullptr) {
        check(clump_heap_do_new(get(), with.get(), of.c_str(), count, nullptr, sync));
    }
    std::uint64_t do_new_counted(const kernel &with, const std::string &of, std::uint64_t count,
                                 const clump_sync *sync = nullptr) {
        std::uint64_t made = 0;
        check(clump_heap_do_new(get(), with.get(), of.c_str(), count, &made, sync));
        return made;
    }
    template <class T>
    T reduce(const kernel &with, const clump_sync *sync = nullptr) {
        static_assert(std::is_trivially_copyable_v<T>, "the result comes as bytes");
        T result{};
        check(clump_heap_reduce(get(), with.get(), sizeof result, &result, sync));
        return result;
    }

    void reserve(const std::string &of, std::uint64_t objects, const clump_sync *sync = nullptr) {
        check(clump_heap_reserve(get(), of.c_str(), objects, sync));
    }

    /* The errors that kernels reported: throw_errors() throws them, take_errors() returns them.
     * Both clear them. */
    void throw_errors() {
        check(clump_heap_take_errors(get(), nullptr));
    }
    clump_device_report take_errors() {
        auto report = sized<clump_device_report>();
        const clump_status status = clump_heap_take_errors(get(), &report);
        if (status != CLUMP_ERR_DEVICE) check(status);
        return report;
    }

    /* Objects. */
    std::uint64_t read_count(const std::string &of) {
        std::uint64_t found = 0;
        check(clump_heap_read_count(get(), of.c_str(), &found));
        return found;
    }
    std::vector<clump_ref> read_refs(const std::string &of) {
        std::vector<clump_ref> refs(read_count(of));
        std::uint64_t found = 0;
        check(clump_heap_read_refs(get(), of.c_str(), refs.data(), refs.size(), &found));
        return refs;
    }
    /* T has the size of the field's type: float, cl_float2, std::uint8_t for bool, clump_ref for
     * references. */
    template <class T>
    std::vector<T> read_field(const std::string &of, const std::string &field,
                              std::uint32_t index = 0) {
        std::vector<T> values(read_count(of));
        read_field(of, field, span<T>(values), index);
        return values;
    }
    /* Reads into memory with room for all objects, and returns their number. */
    template <class T>
    std::uint64_t read_field(const std::string &of, const std::string &field, span<T> values,
                             std::uint32_t index = 0) {
        std::uint64_t found = 0;
        check(clump_heap_read_field(get(), of.c_str(), field.c_str(), index, sizeof(T),
                                    values.data(), values.size(), &found));
        return found;
    }
    template <class Values>
    void write_field(const std::string &of, const std::string &field, const Values &values,
                     std::uint32_t index = 0) {
        using element = std::remove_pointer_t<decltype(values.data())>;
        check(clump_heap_write_field(get(), of.c_str(), field.c_str(), index, sizeof(element),
                                     values.data(), values.size()));
    }
    /* Copies between objects and a buffer with room for `capacity` values from byte `offset` on.
     * Does not wait. */
    void copy_field(const std::string &of, const std::string &field, clump_copy_direction direction,
                    cl_mem of_caller, std::uint64_t capacity, std::uint64_t offset = 0,
                    std::uint32_t index = 0, const clump_sync *sync = nullptr) {
        check(clump_heap_copy_field(get(), of.c_str(), field.c_str(), index, direction, of_caller,
                                    offset, capacity, sync));
    }
    template <class T>
    T read_object_field(const std::string &of, const std::string &field, clump_ref ref,
                        std::uint32_t index = 0) {
        T value{};
        check(clump_heap_read_object_field(get(), of.c_str(), field.c_str(), index, ref,
                                           sizeof(value), &value));
        return value;
    }
    template <class T>
    void write_object_field(const std::string &of, const std::string &field, clump_ref ref,
                            const T &value, std::uint32_t index = 0) {
        check(clump_heap_write_object_field(get(), of.c_str(), field.c_str(), index, ref,
                                            sizeof(value), &value));
    }

    /* Reads an array of run-time length. */
    template <class T>
    std::vector<T> read_object_array(const std::string &of, const std::string &field,
                                     clump_ref ref) {
        std::uint64_t length = 0;
        check(clump_heap_read_object_array(get(), of.c_str(), field.c_str(), ref, sizeof(T),
                                           nullptr, 0, &length));
        std::vector<T> values(length);
        if (length)
            check(clump_heap_read_object_array(get(), of.c_str(), field.c_str(), ref, sizeof(T),
                                               values.data(), length, &length));
        return values;
    }

    /* Reads and writes an array of run-time length of all objects, or of chosen ones. */
    template <class T>
    arrays<T> read_arrays(const std::string &of, const std::string &field) {
        return read_arrays_of<T>(of, field, nullptr, read_count(of));
    }
    template <class T>
    arrays<T> read_arrays(const std::string &of, const std::string &field,
                          span<const clump_ref> refs) {
        if (!refs.size()) return {};
        return read_arrays_of<T>(of, field, refs.data(), refs.size());
    }
    template <class T>
    void write_arrays(const std::string &of, const std::string &field, const arrays<T> &given) {
        check(clump_heap_write_arrays(get(), of.c_str(), field.c_str(), nullptr,
                                      given.offsets.size() - 1, given.offsets.data(), sizeof(T),
                                      given.values.data(), given.values.size()));
    }
    template <class T>
    void write_arrays(const std::string &of, const std::string &field, span<const clump_ref> refs,
                      const arrays<T> &given) {
        if (given.offsets.size() != refs.size() + 1)
            throw error(CLUMP_ERR_USAGE, "there must be an array for each reference");
        if (refs.size())
            check(clump_heap_write_arrays(get(), of.c_str(), field.c_str(), refs.data(),
                                          refs.size(), given.offsets.data(), sizeof(T),
                                          given.values.data(), given.values.size()));
    }

    /* Structs. Their size must match the description (structs.h). */
    template <class T>
    std::vector<T> read_structs(const clump_struct_desc &desc) {
        std::vector<T> structs(read_count(desc.class_name));
        const auto with = sized(desc);
        check_struct(desc, sizeof(T));
        check(clump_heap_read_structs(get(), &with, NULL, structs.data(), structs.size(), nullptr));
        return structs;
    }
    /* Reads chosen objects. */
    template <class T>
    std::vector<T> read_structs(const clump_struct_desc &desc, span<const clump_ref> refs) {
        std::vector<T> structs(refs.size());
        const auto with = sized(desc);
        check_struct(desc, sizeof(T));
        if (refs.size())
            check(clump_heap_read_structs(get(), &with, refs.data(), structs.data(), refs.size(),
                                          nullptr));
        return structs;
    }
    /* Writes all objects, or chosen ones. */
    template <class T>
    void write_structs(const clump_struct_desc &desc, const std::vector<T> &structs) {
        const auto with = sized(desc);
        check_struct(desc, sizeof(T));
        check(clump_heap_write_structs(get(), &with, nullptr, structs.data(), structs.size()));
    }
    template <class T>
    void write_structs(const clump_struct_desc &desc, span<const clump_ref> refs,
                       const std::vector<T> &structs) {
        const auto with = sized(desc);
        check_struct(desc, sizeof(T));
        if (refs.size() != structs.size())
            throw error(CLUMP_ERR_USAGE, "there must be a struct for each reference");
        if (refs.size())
            check(clump_heap_write_structs(get(), &with, refs.data(), structs.data(),
                                           structs.size()));
    }
    /* Makes objects, and returns references to them, in the order of the structs. */
    template <class T>
    std::vector<clump_ref> new_structs(const clump_struct_desc &desc,
                                       const std::vector<T> &structs) {
        std::vector<clump_ref> refs(structs.size());
        std::uint64_t made = 0;
        const auto with = sized(desc);
        check_struct(desc, sizeof(T));
        check(clump_heap_new_structs(get(), &with, structs.data(), structs.size(), refs.data(),
                                     &made));
        refs.resize(made);
        return refs;
    }

    clump_compact_report compact(const clump_compact_desc *desc = nullptr) {
        auto report = sized<clump_compact_report>();
        const auto with = sized(desc ? *desc : clump_compact_desc{});
        check(clump_heap_compact(get(), &with, &report, nullptr));
        return report;
    }
    clump_collect_report collect(const clump_collect_desc *desc = nullptr) {
        auto report = sized<clump_collect_report>();
        const auto with = sized(desc ? *desc : clump_collect_desc{});
        check(clump_heap_collect(get(), &with, &report, nullptr));
        return report;
    }
    /* Programs must be made again afterwards. Default: the same memory as before. */
    clump_convert_report convert(const clump::schema &to, std::uint64_t bytes = 0,
                                 std::uint32_t block_rows = 0) {
        auto desc = sized<clump_convert_desc>();
        auto report = sized<clump_convert_report>();
        desc.schema = to.get();
        desc.bytes = bytes;
        desc.block_rows = block_rows;
        check(clump_heap_convert(get(), &desc, &report));
        return report;
    }

    /* Out of core (evict.h), with evictable_bytes: everything, a desc, a class, or the blocks of
     * references. */
    clump_evict_report evict(const clump_evict_desc *desc = nullptr) {
        auto report = sized<clump_evict_report>();
        const auto with = sized(desc ? *desc : clump_evict_desc{});
        check(clump_heap_evict(get(), &with, &report));
        return report;
    }
    clump_evict_report evict(const std::string &of) {
        const clump_evict_desc desc = of_class(of);
        return evict(&desc);
    }
    clump_evict_report bring_back(const clump_evict_desc *desc = nullptr) {
        auto report = sized<clump_evict_report>();
        const auto with = sized(desc ? *desc : clump_evict_desc{});
        check(clump_heap_bring_back(get(), &with, &report));
        return report;
    }
    clump_evict_report bring_back(const std::string &of) {
        const clump_evict_desc desc = of_class(of);
        return bring_back(&desc);
    }
    clump_evict_report bring_back(span<const clump_ref> refs) {
        static const clump_ref none = 0;
        auto desc = sized<clump_evict_desc>();
        desc.refs = refs.size() ? refs.data() : &none; /* NULL means everything in C */
        desc.ref_count = refs.size();
        return bring_back(&desc);
    }
    void age_blocks() {
        check(clump_heap_age_blocks(get()));
    }
    /* Counters of class 1, 2, ... */
    std::vector<clump_class_stats> read_class_stats() {
        std::vector<clump_class_stats> found(clump_schema_get_info(info().schema)->class_count);
        if (!found.empty()) found[0] = sized<clump_class_stats>();
        check(clump_heap_read_stats(get(), nullptr, found.data(),
                                    static_cast<std::uint32_t>(found.size())));
        return found;
    }
    clump_heap_stats read_stats() {
        auto found = sized<clump_heap_stats>();
        check(clump_heap_read_stats(get(), &found, nullptr, 0));
        return found;
    }
    /* The heap as JSON, for clump-inspect. */
    std::string dump() {
        std::string dumped;
        check(clump_heap_dump(get(), append, &dumped));
        return dumped;
    }
    /* All objects of a class as a table. */
    std::string write_table(const std::string &of, clump_table_format format) {
        std::string table;
        check(clump_heap_write_table(get(), of.c_str(), format, append, &table));
        return table;
    }
    /* Repairs the heap, and returns the damage that it found. */
    clump_repair_report repair() {
        auto report = sized<clump_repair_report>();
        const clump_status status = clump_heap_repair(get(), &report);
        if (status != CLUMP_ERR_CORRUPT) check(status);
        return report;
    }
    /* `copy`, a heap of the same schema and size, becomes equal to this one (copy.h). */
    void copy_to(heap &copy, const clump_sync *sync = nullptr) {
        check(clump_heap_copy(get(), copy.get(), sync));
    }
    clump_save_report save(const std::string &path) {
        auto desc = sized<clump_save_desc>();
        auto report = sized<clump_save_report>();
        desc.path = path.c_str();
        check(clump_heap_save(get(), &desc, &report));
        return report;
    }
    clump_load_report load(const std::string &path) {
        auto desc = sized<clump_load_desc>();
        auto report = sized<clump_load_report>();
        desc.path = path.c_str();
        check(clump_heap_load(get(), &desc, &report));
        return report;
    }

    void check(clump_status status) const {
        detail::check(context_, status);
    }

   private:
    using owner = detail::owner<clump_heap, clump_heap_destroy>;
    static int append(void *user, const void *data, std::size_t bytes) noexcept {
        try { /* exceptions must not pass through C */
            static_cast<std::string *>(user)->append(static_cast<const char *>(data), bytes);
        } catch (...) {
            return 1;
        }
        return 0;
    }
    static clump_heap_desc describe(const clump::schema &classes, std::uint64_t bytes,
                                    std::uint64_t buffer_bytes, std::uint64_t evictable_bytes) {
        auto desc = sized<clump_heap_desc>();
        desc.schema = classes.get();
        desc.bytes = bytes;
        desc.buffer_bytes = buffer_bytes;
        desc.evictable_bytes = evictable_bytes;
        return desc;
    }
    static clump_evict_desc of_class(const std::string &of) {
        auto desc = sized<clump_evict_desc>();
        desc.class_name = of.c_str();
        return desc;
    }
    template <class T>
    arrays<T> read_arrays_of(const std::string &of, const std::string &field, const clump_ref *refs,
                             std::uint64_t objects) {
        arrays<T> read;
        read.offsets.resize(objects + 1);
        check(clump_heap_read_arrays(get(), of.c_str(), field.c_str(), refs, objects,
                                     read.offsets.data(), 0, nullptr, 0));
        read.values.resize(read.offsets[objects]);
        check(clump_heap_read_arrays(get(), of.c_str(), field.c_str(), refs, objects,
                                     read.offsets.data(), sizeof(T), read.values.data(),
                                     read.values.size()));
        return read;
    }
    static void check_struct(const clump_struct_desc &desc, std::size_t bytes) {
        if (desc.bytes != bytes)
            throw error(CLUMP_ERR_USAGE, std::string("the struct of ") + desc.class_name + " has " +
                                             std::to_string(bytes) +
                                             " bytes; its description says " +
                                             std::to_string(desc.bytes));
    }
    detail::shared_context context_;
    owner heap_;
};

/* ---- Program --------------------------------------------------------------------------------- */

class program {
   public:
    program(const heap &of, const clump_program_desc &desc) : context_(of.share()) {
        auto with = sized(desc);
        clump_program *made = nullptr;
        with.heap = of.get();
        const clump_status status = clump_program_create(&with, &made, NULL);
        detail::check(context_, status);
        program_ = owner(made);
    }
    program(const heap &of, const std::string &source, const std::string &options = "")
        : program(of, describe(source, options)) {
    }

    clump::kernel kernel(const std::string &name) const {
        clump_kernel *made = nullptr;
        detail::check(context_, clump_kernel_create(get(), name.c_str(), &made, NULL));
        return clump::kernel(context_, made);
    }
    const char *log() const noexcept {
        return clump_program_get_info(get())->log;
    }
    /* Everything that the compiler gets, for kernels that the caller enqueues
     * (heap::set_kernel()). */
    const char *source() const noexcept {
        return clump_program_get_info(get())->source;
    }
    const char *options() const noexcept {
        return clump_program_get_info(get())->options;
    }
    clump_program *get() const noexcept {
        return program_.get();
    }

   private:
    using owner = detail::owner<clump_program, clump_program_destroy>;
    static clump_program_desc describe(const std::string &source, const std::string &options) {
        auto desc = sized<clump_program_desc>();
        desc.source = source.c_str();
        desc.options = options.c_str();
        return desc;
    }
    detail::shared_context context_;
    owner program_;
};

/* ---- References outside the heap ------------------------------------------------------------- */

/* A registered buffer of references (refs.h). */
class refs {
   public:
    refs(const heap &of, const clump_refs_desc &desc) : context_(of.share()) {
        clump_refs *made = nullptr;
        const auto with = sized(desc);
        of.check(clump_refs_create(of.get(), &with, &made, NULL));
        refs_ = owner(made);
    }
    clump_refs *get() const noexcept {
        return refs_.get();
    }

   private:
    using owner = detail::owner<clump_refs, clump_refs_destroy>;
    detail::shared_context context_;
    owner refs_;
};

/* A reference on the host that stays correct when its object moves. Destroy it before its heap. */
class handle {
   public:
    handle(const heap &of, clump_ref ref) : context_(of.share()), heap_(of.get()) {
        detail::check(context_, clump_heap_create_handle(heap_, ref, &handle_));
    }
    handle(handle &&other) noexcept
        : context_(std::move(other.context_)),
          heap_(other.heap_),
          handle_(std::exchange(other.handle_, 0u)) {
    }
    handle &operator=(handle &&other) noexcept {
        handle taken(std::move(other)); /* releases the old one at the end */
        std::swap(context_, taken.context_);
        std::swap(heap_, taken.heap_);
        std::swap(handle_, taken.handle_);
        return *this;
    }
    handle(const handle &) = delete;
    handle &operator=(const handle &) = delete;
    ~handle() {
        if (handle_) clump_heap_destroy_handle(heap_, handle_);
    }

    /* The object's present reference, or 0 if the library knows that the object is dead
     * (clump_heap_read_handle()). */
    clump_ref read() const {
        clump_ref ref = 0;
        detail::check(context_, clump_heap_read_handle(heap_, handle_, &ref));
        return ref;
    }

   private:
    detail::shared_context context_;
    clump_heap *heap_;
    clump_handle handle_ = 0;
};

/* ---- Pool ------------------------------------------------------------------------------------ */

class pool {
   public:
    pool(const context &on, const clump_pool_desc &desc) : context_(on.share()) {
        auto with = sized(desc);
        clump_pool *made = nullptr;
        clump_error e;
        with.context = on.get();
        if (clump_pool_create(&with, &made, &e)) throw error(e);
        pool_ = owner(made);
    }
    explicit pool(const context &on) : pool(on, clump_pool_desc{}) {
    }

    clump_pool *get() const noexcept {
        return pool_.get();
    }
    void check(clump_status status) const {
        check(get(), status);
    }
    static void check(clump_pool *of, clump_status status) {
        if (status == CLUMP_OK) return;
        clump_error e;
        clump_pool_get_error(of, &e);
        if (e.status == status) throw error(e);
        throw error(status, "");
    }
    clump_pool_stats stats() const {
        auto found = sized<clump_pool_stats>();
        check(clump_pool_get_stats(get(), &found, NULL));
        return found;
    }
    void trim() {
        check(clump_pool_trim(get()));
    }
    /* Makes one step, or with until_done all (defrag.h). */
    clump_defrag_report defragment(const clump_defrag_desc &desc = clump_defrag_desc{},
                                   const clump_sync *sync = nullptr) {
        auto report = sized<clump_defrag_report>();
        const auto with = sized(desc);
        check(clump_pool_defragment(get(), &with, &report, sync));
        return report;
    }

   private:
    using owner = detail::owner<clump_pool, clump_pool_destroy>;
    detail::shared_context context_;
    owner pool_;
};

/* An allocation of a pool, freed by the destructor. Destroy it before its pool. */
class allocation {
   public:
    allocation(const pool &of, const clump_allocation_desc &desc) : pool_(of.get()) {
        const auto with = sized(desc);
        pool::check(pool_, clump_pool_alloc(pool_, &with, &allocation_, nullptr));
    }
    allocation(const pool &of, std::uint64_t bytes) : allocation(of, describe(bytes)) {
    }
    allocation(allocation &&other) noexcept
        : pool_(other.pool_), allocation_(std::exchange(other.allocation_, clump_allocation{0})) {
    }
    allocation &operator=(allocation &&other) noexcept {
        allocation taken(std::move(other)); /* frees the old one at the end */
        std::swap(pool_, taken.pool_);
        std::swap(allocation_, taken.allocation_);
        return *this;
    }
    allocation(const allocation &) = delete;
    allocation &operator=(const allocation &) = delete;
    ~allocation() {
        clump_pool_free(pool_, allocation_);
    } /* a mapped or pinned allocation stays in the pool */

    clump_allocation get() const noexcept {
        return allocation_;
    }
    /* Its present place. */
    clump_region region() const {
        auto info = sized<clump_allocation_info>();
        pool::check(pool_, clump_pool_get_info(pool_, allocation_, &info));
        return info.region;
    }
    /* Adds pins, or removes them. */
    void pin(int pins) {
        pool::check(pool_, clump_pool_pin(pool_, allocation_, pins));
    }
    void use(cl_event until) {
        pool::check(pool_, clump_pool_use(pool_, allocation_, until));
    }
    void *map(cl_map_flags flags) {
        void *memory = nullptr;
        pool::check(pool_, clump_pool_map(pool_, allocation_, flags, &memory));
        return memory;
    }
    void unmap(void *memory, const clump_sync *sync = nullptr) {
        pool::check(pool_, clump_pool_unmap(pool_, allocation_, memory, sync));
    }
    /* A cl_mem of the allocation, which the pool owns. Valid until the allocation moves or is
     * freed. */
    cl_mem buffer() const {
        cl_mem found = nullptr;
        pool::check(pool_, clump_pool_get_buffer(pool_, allocation_, &found));
        return found;
    }

   private:
    static clump_allocation_desc describe(std::uint64_t bytes) {
        auto desc = sized<clump_allocation_desc>();
        desc.bytes = bytes;
        return desc;
    }
    clump_pool *pool_;
    clump_allocation allocation_ = 0;
};

}  // namespace clump

#endif
