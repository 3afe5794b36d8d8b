"""Recipe for Conan 2, which builds Clump from the tree that this file is in:

    conan create scripts/packaging/conan

The OpenCL headers and the loader are the machine's: drivers bring them, or the distribution.
"""
import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir


class Clump(ConanFile):
    name = 'clump'
    license = 'MIT'
    description = 'Dynamic object heap for OpenCL'
    topics = ('opencl', 'gpu', 'memory', 'allocator')
    package_type = 'library'
    settings = 'os', 'arch', 'compiler', 'build_type'
    options = {'shared': [True, False], 'fPIC': [True, False]}
    default_options = {'shared': False, 'fPIC': True}
    languages = 'C'
    implements = ['auto_shared_fpic']

    @property
    def _tree(self):
        return os.path.join(self.recipe_folder, '..', '..', '..')

    def set_version(self):
        header = load(self, os.path.join(self._tree, 'include', 'clump', 'export.h'))
        self.version = re.search(r'CLUMP_VERSION_TEXT "([^"]+)"', header)[1]

    def export_sources(self):
        for pattern in ('CMakeLists.txt', 'LICENSE', 'cmake/*', 'include/*', 'host/*', 'cl/*', 'examples/*'):
            copy(self, pattern, self._tree, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in ('TESTS', 'BENCH', 'TOOLS'):
            toolchain.cache_variables[f'CLUMP_BUILD_{part}'] = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, 'LICENSE', self.source_folder, os.path.join(self.package_folder, 'licenses'))
        rmdir(self, os.path.join(self.package_folder, 'lib', 'cmake'))  # Conan's generators write these
        rmdir(self, os.path.join(self.package_folder, 'lib', 'pkgconfig'))

    def package_info(self):
        self.cpp_info.libs = ['clump']
        self.cpp_info.set_property('cmake_file_name', 'clump')
        self.cpp_info.set_property('cmake_target_name', 'clump::clump')
        self.cpp_info.set_property('pkg_config_name', 'clump')
        self.cpp_info.system_libs = ['OpenCL']
        if self.settings.os in ('Linux', 'FreeBSD'):
            self.cpp_info.system_libs += ['m', 'pthread', 'dl']
