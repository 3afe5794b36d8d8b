/* Coroutines with stacks that can be copied away and back, for executor.h.
 *
 * ucontext starts a routine; _setjmp and _longjmp switch. What a suspended routine consists of is
 * its jmp_buf and the part of its stack above `low`; both may be copied, and copied back later to
 * continue from there once more.
 *
 * Sanitizers that keep books of the stack cannot follow this: routine_supported() says so.
 */
#ifndef CLUMP_TESTS_ROUTINE_H
#define CLUMP_TESTS_ROUTINE_H

#undef _FORTIFY_SOURCE /* its longjmp allows jumps down one stack only */
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <ucontext.h>

#define ROUTINE_STACK_BYTES 32768u

#if defined(__clang__)
#define ROUTINE_OPAQUE __attribute__((noinline, optnone))
#else
#define ROUTINE_OPAQUE __attribute__((noipa))
#endif

/* Words of a jmp_buf that hold registers. */
#if defined(__x86_64__)
#define ROUTINE_REGISTERS 8u
#else
#define ROUTINE_REGISTERS (sizeof(jmp_buf) / sizeof(unsigned long))
#endif

typedef struct routine {
    jmp_buf env;
    char *low;   /* lowest address in use while suspended */
    char *frame; /* what lies above is what the routine's future depends on, with env */
    uint32_t done;
} routine;

static jmp_buf routine_caller;
static void (*routine_body)(uint32_t index);
static routine *routine_started;
static uint32_t routine_started_index;

static inline int routine_supported(void) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return 0;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
    return 0;
#else
    return 1;
#endif
#else
    return 1;
#endif
}

/* Called by the routine: let the caller of routine_resume() go on. */
static ROUTINE_OPAQUE void routine_yield(routine *r) {
    /* What lies below this frame is not needed; setjmp keeps the registers. */
    r->low = (char *)(((uintptr_t)__builtin_frame_address(0) - 512u) & ~(uintptr_t)15);
    r->frame = (char *)__builtin_frame_address(0);
    if (_setjmp(r->env) == 0) _longjmp(routine_caller, 1);
}

static ROUTINE_OPAQUE void routine_resume(routine *r) {
    if (_setjmp(routine_caller) == 0) _longjmp(r->env, 1);
}

static ROUTINE_OPAQUE void routine_entry(void) {
    routine *r = routine_started;
    uint32_t index = routine_started_index;
    routine_body(index);
    r->done = 1;
    _longjmp(routine_caller, 1);
}

/* Start routine number `index` on the given stack; it runs until it first yields. */
static ROUTINE_OPAQUE void routine_start(routine *r, uint32_t index, char *stack) {
    ucontext_t context;
    if (getcontext(&context) != 0) abort();
    context.uc_stack.ss_sp = stack;
    context.uc_stack.ss_size = ROUTINE_STACK_BYTES;
    context.uc_link = NULL;
    makecontext(&context, routine_entry, 0);
    r->done = 0;
    r->low = stack + ROUTINE_STACK_BYTES;
    routine_started = r;
    routine_started_index = index;
    if (_setjmp(routine_caller) == 0) setcontext(&context);
}

#endif
