"""A recipe for Conan 2, in a checkout of the sources: `conan create crates/crossdock-capi/packaging/conan`. It needs Cargo."""

import os

from conan import ConanFile
from conan.tools.files import copy


class Crossdock(ConanFile):
    name = "crossdock"
    version = "0.1.0"
    license = "MIT OR Apache-2.0"
    description = "Share n-dimensional arrays between libraries, languages and processes without copying them"
    settings = "os", "arch", "build_type"
    options = {"shared": [True, False]}
    default_options = {"shared": True}

    def export_sources(self):
        root = os.path.join(self.recipe_folder, *[os.pardir] * 4)
        copy(self, "*", src=root, dst=self.export_sources_folder, excludes=["target/*", ".git/*"])

    def package(self):
        self.run(f'cargo xtask install --prefix "{self.package_folder}"', cwd=self.source_folder)
        for licence in "LICENSE-MIT", "LICENSE-APACHE":
            copy(self, licence, src=self.source_folder, dst=os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        self.cpp_info.set_property("cmake_target_name", "crossdock::crossdock")
        self.cpp_info.set_property("pkg_config_name", "crossdock")
        self.cpp_info.libs = ["crossdock" if self.options.shared else ":libcrossdock.a"]
        if not self.options.shared:
            with open(os.path.join(self.package_folder, "lib", "pkgconfig", "crossdock.pc")) as described:
                private = next(line for line in described if line.startswith("Libs.private:"))
            self.cpp_info.system_libs = [flag.removeprefix("-l") for flag in private.split()[1:]]
