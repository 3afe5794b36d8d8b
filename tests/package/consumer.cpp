// Uses Clump from C++ without a device: the headers are found, the library links, and what is wrong is an exception.
#include <clump/clump.hpp>

#include <cstdio>
#include <cstring>

int main() {
    try {
        clump::schema good("class Cell { uint value; }");
        clump::schema bad("class Cell { unit value; }");
    } catch (const std::exception &e) {
        std::printf("%s: %s\n", CLUMP_VERSION_TEXT, e.what());
        return std::strstr(e.what(), "unit") ? 0 : 1;
    }
    return 1;
}
