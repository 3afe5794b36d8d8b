"""The extension clump._library is made by cffi from build_library.py; the version is that of the installed library."""
import pathlib
import sys

from setuptools import setup

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from build_library import pkg_config  # noqa: E402

setup(version=pkg_config("--modversion")[0], cffi_modules=["build_library.py:ffibuilder"])
