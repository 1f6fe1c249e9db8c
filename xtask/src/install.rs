//! `cargo xtask install`: the library for C and C++, with the files of their build tools.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use crate::run::Door;

/// The package that builds the library, and its folder.
pub(crate) const PACKAGE: &str = "crossdock-capi";
const FOLDER: &str = "crates/crossdock-capi";

/// The system libraries that the static library needs (`rustc --print native-static-libs`), but for
/// the unwinder, `gcc_eh` in place of `gcc_s`, which is not there for a program without any shared
/// library.
const SYSTEM: &str = include_str!("../../crates/crossdock-capi/system-libs.txt");

/// Builds the release library, and installs it below `prefix`.
pub(crate) fn run(prefix: &Path) -> Result<ExitCode> {
    let door = Door::new(false)?;
    if !door.cargo(&format!("build --release --package {PACKAGE}")).status()?.success() {
        bail!("the library does not build");
    }
    let prefix = door.root.join(prefix);
    for file in install(&door, &door.target.join("release"), &prefix)? {
        println!("{}", prefix.join(file).display());
    }
    Ok(ExitCode::SUCCESS)
}

/// Installs the files of a build folder below `prefix`, and lists them.
pub(crate) fn install(door: &Door, built: &Path, prefix: &Path) -> Result<Vec<PathBuf>> {
    let version = Version::of(door)?;
    let place = Place { prefix, files: Vec::new() };
    place.with_library(door, built, &version)?.with_headers(door)?.with_descriptions(&version)
}

/// The version of the library, and the name that the loader uses.
struct Version {
    full: String,
    /// Changes with the binary interface: includes the minor version while the major one is 0.
    interface: String,
}

impl Version {
    /// The version in the header: a test compares it with the library's own.
    fn of(door: &Door) -> Result<Self> {
        let path = door.root.join(FOLDER).join("include/crossdock/base.h");
        let header =
            fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
        let line = header.lines().find_map(|line| line.strip_prefix("#define XD_VERSION_STRING "));
        let full = line.context("the header says no version")?.trim_matches('"').to_owned();
        let [major, minor] = full.split('.').take(2).collect::<Vec<_>>()[..] else {
            bail!("`{full}` is no version");
        };
        let interface = if major == "0" { format!("{major}.{minor}") } else { major.to_owned() };
        Ok(Self { full, interface })
    }
}

/// The folder below which files are installed.
struct Place<'a> {
    prefix: &'a Path,
    files: Vec<PathBuf>,
}

impl Place<'_> {
    fn with_library(mut self, door: &Door, built: &Path, version: &Version) -> Result<Self> {
        let Version { full, interface } = version;
        let file = format!("libcrossdock.so.{full}");
        for (from, to) in
            [("libcrossdock_capi.so", &*format!("lib/{file}")), ("libcrossdock_capi.a", "lib/libcrossdock.a")]
        {
            self.copy(&built.join(from), to)?;
            strip(door, &self.prefix.join(to))?;
        }
        for name in [format!("lib/libcrossdock.so.{interface}"), "lib/libcrossdock.so".to_owned()] {
            let link = self.at(&name)?;
            symlink(&file, &link).with_context(|| format!("{} cannot be made", link.display()))?;
        }
        Ok(self)
    }

    fn with_headers(mut self, door: &Door) -> Result<Self> {
        let include = door.root.join(FOLDER).join("include");
        for folder in ["", "crossdock/"] {
            let entries =
                fs::read_dir(include.join(folder)).context("the folder of headers cannot be read")?;
            let entries = entries.collect::<std::io::Result<Vec<_>>>()?;
            let mut headers: Vec<_> =
                entries.iter().map(fs::DirEntry::path).filter(|path| path.is_file()).collect();
            headers.sort();
            for header in headers {
                let name =
                    header.file_name().and_then(|name| name.to_str()).context("a header has a name")?;
                self.copy(&header, &format!("include/{folder}{name}"))?;
            }
        }
        Ok(self)
    }

    fn with_descriptions(mut self, version: &Version) -> Result<Vec<PathBuf>> {
        let Version { full, interface } = version;
        self.write("lib/pkgconfig/crossdock.pc", &pkg_config(full))?;
        self.write("lib/cmake/crossdock/crossdock-config.cmake", &cmake())?;
        self.write("lib/cmake/crossdock/crossdock-config-version.cmake", &cmake_version(full, interface))?;
        Ok(self.files)
    }

    /// The path of a file below the prefix, after removing an old file and creating the folder.
    fn at(&mut self, name: &str) -> Result<PathBuf> {
        let path = self.prefix.join(name);
        let folder = path.parent().context("a file has a folder")?;
        fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
        // Replaced rather than overwritten: running programs keep their library.
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("{} cannot be replaced", path.display()));
            }
            _ => {}
        }
        self.files.push(name.into());
        Ok(path)
    }

    fn copy(&mut self, from: &Path, name: &str) -> Result<()> {
        let to = self.at(name)?;
        fs::copy(from, &to).with_context(|| format!("{} cannot be copied", from.display()))?;
        Ok(())
    }

    fn write(&mut self, name: &str, text: &str) -> Result<()> {
        let to = self.at(name)?;
        fs::write(&to, text).with_context(|| format!("{} cannot be written", to.display()))
    }
}

/// Removes line tables from a library: they are most of its size, and useful only with the sources.
/// The names of functions stay.
pub(crate) fn strip(door: &Door, library: &Path) -> Result<()> {
    let status = door.command("strip", "--strip-debug").arg(library).status();
    let status =
        status.context("`strip` does not run, which comes with the C compiler (Debian's binutils)")?;
    if !status.success() {
        bail!("`strip` ended with {status}, for {}", library.display());
    }
    Ok(())
}

/// The folder may be moved: paths are relative to the file.
fn pkg_config(version: &str) -> String {
    let system = SYSTEM.lines().map(|library| format!(" -l{library}")).collect::<String>();
    format!(
        "prefix=${{pcfiledir}}/../..\n\
         includedir=${{prefix}}/include\n\
         libdir=${{prefix}}/lib\n\
         \n\
         Name: crossdock\n\
         Description: Share n-dimensional arrays between libraries, languages and processes without copying them\n\
         Version: {version}\n\
         Cflags: -I${{includedir}}\n\
         Libs: -L${{libdir}} -lcrossdock\n\
         Libs.private:{system}\n"
    )
}

fn cmake() -> String {
    CMAKE.replace("@SYSTEM@", &SYSTEM.lines().collect::<Vec<_>>().join(";"))
}

const CMAKE: &str = r#"# find_package(crossdock): the targets crossdock::crossdock (shared) and crossdock::static.
# CMake may find it through a link, such as /lib.
get_filename_component(_crossdock_prefix "${CMAKE_CURRENT_LIST_DIR}" REALPATH)
get_filename_component(_crossdock_prefix "${_crossdock_prefix}/../../.." ABSOLUTE)

if(NOT TARGET crossdock::crossdock)
  add_library(crossdock::crossdock SHARED IMPORTED)
  set_target_properties(crossdock::crossdock PROPERTIES
    IMPORTED_LOCATION "${_crossdock_prefix}/lib/libcrossdock.so"
    INTERFACE_INCLUDE_DIRECTORIES "${_crossdock_prefix}/include")
endif()

if(NOT TARGET crossdock::static)
  add_library(crossdock::static STATIC IMPORTED)
  set_target_properties(crossdock::static PROPERTIES
    IMPORTED_LOCATION "${_crossdock_prefix}/lib/libcrossdock.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_crossdock_prefix}/include"
    INTERFACE_LINK_LIBRARIES "@SYSTEM@")
endif()

# There are no components, so a required one is missing.
foreach(_crossdock_part IN LISTS crossdock_FIND_COMPONENTS)
  if(crossdock_FIND_REQUIRED_${_crossdock_part})
    set(crossdock_FOUND FALSE)
    set(crossdock_NOT_FOUND_MESSAGE "crossdock has no component ${_crossdock_part}")
  endif()
endforeach()

unset(_crossdock_part)
unset(_crossdock_prefix)
"#;

/// Versions with the same binary interface are compatible.
fn cmake_version(version: &str, interface: &str) -> String {
    let parts = interface.split('.').count();
    let wanted = if parts == 2 {
        "${PACKAGE_FIND_VERSION_MAJOR}.${PACKAGE_FIND_VERSION_MINOR}"
    } else {
        "${PACKAGE_FIND_VERSION_MAJOR}"
    };
    format!(
        "set(PACKAGE_VERSION \"{version}\")\n\
         if(PACKAGE_FIND_VERSION VERSION_LESS_EQUAL PACKAGE_VERSION AND \"{wanted}\" STREQUAL \"{interface}\")\n\
         \x20 set(PACKAGE_VERSION_COMPATIBLE TRUE)\n\
         endif()\n\
         if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)\n\
         \x20 set(PACKAGE_VERSION_EXACT TRUE)\n\
         endif()\n"
    )
}
