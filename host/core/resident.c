/* The library's code stays in the process: see resident.h. */
#define _GNU_SOURCE /* dladdr(). NOLINT(bugprone-reserved-identifier) */
#include "core/resident.h"

#ifdef _WIN32
#include <windows.h>
#else
#include <dlfcn.h>
#include <stdint.h>
#endif

#ifdef _WIN32
void clumpi_code_stays(void) {
    HMODULE module;
    GetModuleHandleExA(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN,
                       (LPCSTR)(void *)clumpi_code_stays, &module);
}
#else
void clumpi_code_stays(void) {
    Dl_info place;
    if (!dladdr((void *)(uintptr_t)clumpi_code_stays, &place) || !place.dli_fname) return;
    /* That it is not to be unloaded stays when this handle is closed. No handle: it is the program
     * itself. */
    void *self = dlopen(place.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    if (self) dlclose(self);
}
#endif
