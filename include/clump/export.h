/* Symbol visibility and version of the library. Read first: nothing. */
#ifndef CLUMP_EXPORT_H
#define CLUMP_EXPORT_H

/* Version of these headers. docs/guide/packages.md describes the promise of a version. */
#define CLUMP_VERSION_MAJOR 0
#define CLUMP_VERSION_MINOR 1
#define CLUMP_VERSION_PATCH 0
#define CLUMP_VERSION_TEXT "0.1.0"

/* CLUMPI_BUILDS is defined when the library itself is built. On Windows a program needs no mark at
 * functions of a DLL. */
#if defined(_WIN32)
#ifdef CLUMPI_BUILDS
#define CLUMP_API __declspec(dllexport)
#else
#define CLUMP_API
#endif
#elif defined(__GNUC__) && !defined(CLUMP_STATIC)
#define CLUMP_API __attribute__((visibility("default")))
#else
#define CLUMP_API
#endif

#endif
