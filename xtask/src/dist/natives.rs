//! The library for C and C++, its Debian package with the command, and the gems.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::archives::{self, LICENCES};
use super::{Dist, GLIBC, HOST, commands, mounts, third_party};
use crate::install;
use crate::run::Run;

const GEM: &str = "bindings/ruby";

/// The package that the Debian package needs: the shared library was linked with it.
const NEEDS: &str = "libc6 (>= 2.28)";

/// Rake writes below the sources of the gem: those of the commit's copy.
pub(super) fn gem(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    rake(run, dist, "gem", &format!("crossdock-{}.gem", dist.version))
}

pub(super) fn built_gem(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    let platform = run.stdout(dist.door.command("ruby", "-e").arg("print Gem::Platform.local"))?;
    // The packer adds it if it is there. The gem that is built where it is installed has no crates.
    let list = dist.door.root.join(GEM).join(third_party::FILE);
    third_party::write(run, dist, third_party::GEM, HOST, &list)?;
    let result = rake(run, dist, "gem:native", &format!("crossdock-{}-{platform}.gem", dist.version));
    fs::remove_file(&list).with_context(|| format!("{} cannot be removed", list.display()))?;
    result
}

fn rake(run: &mut Run<'_>, dist: &Dist, task: &str, name: &str) -> Result<()> {
    let folder = dist.door.root.join(GEM);
    let mut rake = dist.door.command("rake", task);
    mounts::exec(run, dist, dist.prepare(rake.current_dir(&folder)))?;
    dist.keep(&folder.join("pkg").join(name))
}

pub(super) fn c_library(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    let name = format!("crossdock-c-{}-{HOST}", dist.version);
    let staging = dist.staging("c")?;
    install_c(run, dist, &staging.join(&name))?;
    archives::copy(dist, &LICENCES, &staging.join(&name))?;
    let list = staging.join(&name).join(third_party::FILE);
    third_party::write(run, dist, third_party::C_LIBRARY, HOST, &list)?;
    archives::copy(dist, &["docs/c.md", "CHANGELOG.md"], &staging.join(&name).join("share/doc/crossdock"))?;
    archives::tar(run, dist, &staging, &name)
}

/// Builds the C library for the old glibc, and installs it below a folder.
fn install_c(run: &mut Run<'_>, dist: &Dist, prefix: &Path) -> Result<()> {
    let options = format!("build --locked --release --package {} --target {HOST}.{GLIBC}", install::PACKAGE);
    let mut build = dist.door.command("cargo-zigbuild", &options);
    mounts::exec(run, dist, dist.prepare(&mut build))?;
    let built = dist.build.join(HOST).join("release");
    needs_no_newer_glibc(run, dist, &built.join("libcrossdock_capi.so"))?;
    install::install(&dist.door, &built, prefix).map(drop)
}

/// The versions of glibc's symbols that a library asks for are none above the promised one.
fn needs_no_newer_glibc(run: &mut Run<'_>, dist: &Dist, library: &Path) -> Result<()> {
    let symbols = run.stdout(dist.door.command("objdump", "-T").arg(library))?;
    let newest = symbols.split("GLIBC_").skip(1).filter_map(version).max();
    let newest = newest.with_context(|| format!("{} has no symbols of glibc", library.display()))?;
    let promised = version(GLIBC).context("the promised version is one")?;
    if newest > promised {
        bail!("{} needs glibc {newest:?}, and {promised:?} is promised", library.display());
    }
    Ok(())
}

/// The first two numbers of `2.28)  memcpy`.
fn version(text: &str) -> Option<(u32, u32)> {
    let number = |text: &str| text.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok();
    let (major, minor) = text.split_once('.')?;
    Some((number(major)?, number(minor)?))
}

/// The command of the archive, and the C library.
pub(super) fn debian(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    let name = format!("crossdock_{}_amd64", dist.version);
    let root = dist.staging("deb")?.join(&name);
    let usr = root.join("usr");
    install_c(run, dist, &usr)?;

    let unpacked = dist.staging("deb-command")?;
    commands::unpack(run, dist, commands::X86_64, &unpacked)?;
    let share = usr.join("share");
    put(&unpacked.join("crossdock"), &usr.join("bin/crossdock"))?;
    for page in sorted(&unpacked.join("man/man1"))? {
        let name = page.file_name().context("a page has a name")?;
        put_packed(run, dist, &page, &share.join("man/man1").join(name))?;
    }
    for (file, to) in [
        ("crossdock", "bash-completion/completions/crossdock"),
        ("_crossdock", "zsh/vendor-completions/_crossdock"),
        ("crossdock.fish", "fish/vendor_completions.d/crossdock.fish"),
    ] {
        put(&unpacked.join("completions").join(file), &share.join(to))?;
    }
    let doc = share.join("doc/crossdock");
    fs::create_dir_all(&doc).with_context(|| format!("{} cannot be made", doc.display()))?;
    fs::write(doc.join("copyright"), copyright(&fs::read_to_string(dist.door.root.join("LICENSE-MIT"))?))?;
    put_packed(run, dist, &dist.door.root.join("CHANGELOG.md"), &doc.join("changelog"))?;
    put(&dist.door.root.join("docs/c.md"), &doc.join("c.md"))?;
    let programs = [(third_party::COMMAND, commands::X86_64), (third_party::C_LIBRARY, HOST)];
    third_party::write_all(run, dist, &programs, &doc.join(third_party::FILE))?;

    let size =
        run.stdout(dist.door.command("du", "--apparent-size --summarize --block-size=1024").arg(&usr))?;
    let size = size.split_whitespace().next().context("du prints a size")?;
    let control = root.join("DEBIAN");
    fs::create_dir_all(&control)?;
    fs::write(control.join("control"), described(&dist.version, size))?;
    // The loader's cache then knows the library.
    fs::write(control.join("triggers"), "activate-noawait ldconfig\n")?;
    fs::write(control.join("shlibs"), shlibs(&usr, &dist.version)?)?;
    let mut sums = dist.door.command("sh", "-euc");
    sums.arg("find usr -type f | LC_ALL=C sort | xargs -d '\\n' md5sum").current_dir(&root);
    fs::write(control.join("md5sums"), run.stdout(&mut sums)?)?;
    for path in [&root, &control] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    }
    run.exec(dist.door.command("chmod", "-R u+rwX,go+rX,go-w").arg(&root))?;
    // Of the libraries, the one that the loader maps was written as a program.
    let library = usr.join(format!("lib/libcrossdock.so.{}", dist.version));
    fs::set_permissions(&library, fs::Permissions::from_mode(0o644))
        .with_context(|| format!("{} has no mode", library.display()))?;
    let mut deb = dist.door.command("dpkg-deb", "--root-owner-group -Zxz -z3 --threads-max=1 --build");
    deb.arg(&root).arg(dist.out.join(format!("{name}.deb")));
    mounts::exec(run, dist, dist.prepare(&mut deb))
}

/// Which package a program needs that is linked with the library: the name of the library, its
/// interface, and the package.
fn shlibs(usr: &Path, version: &str) -> Result<String> {
    let names = sorted(&usr.join("lib"))?;
    let interface = |path: &PathBuf| {
        let name = path.file_name()?.to_str()?.strip_prefix("libcrossdock.so.")?;
        (name != version).then(|| name.to_owned())
    };
    let interface = names.iter().find_map(interface).context("the library has a name for the loader")?;
    Ok(format!("libcrossdock {interface} crossdock (>= {version})\n"))
}

/// The licences of the package: the text of the one, and where Debian has that of the other.
fn copyright(mit: &str) -> String {
    format!(
        "Crossdock is licensed under the MIT licence, which is below, or under the Apache License 2.0,\n\
         whose text is in /usr/share/common-licenses/Apache-2.0. The licences of the crates in the\n\
         programs are in {}, beside this file.\n\n{mit}",
        third_party::FILE
    )
}

fn described(version: &str, size: &str) -> String {
    format!(
        "Package: crossdock\n\
         Version: {version}\n\
         Architecture: amd64\n\
         Maintainer: The Crossdock authors\n\
         Installed-Size: {size}\n\
         Depends: {NEEDS}\n\
         Section: libdevel\n\
         Priority: optional\n\
         Description: share n-dimensional arrays without copying them\n\
         \x20The command crossdock, which inspects, converts and lends arrays in files, and the\n\
         \x20library for C and C++ with its headers and the files of pkg-config and CMake.\n"
    )
}

fn put(from: &Path, to: &Path) -> Result<()> {
    let folder = to.parent().context("a file has a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    fs::copy(from, to).with_context(|| format!("{} cannot be copied", from.display()))?;
    Ok(())
}

/// Copies a file, compressed, with `.gz` behind its name.
fn put_packed(run: &mut Run<'_>, dist: &Dist, from: &Path, to: &Path) -> Result<()> {
    put(from, to)?;
    run.exec(dist.door.command("gzip", "--no-name --best").arg(to))
}

fn sorted(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))?;
    let mut paths: Vec<_> =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<std::io::Result<_>>()?;
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_symbols_are_numbers() {
        assert_eq!(version("2.28)  memcpy"), Some((2, 28)));
        assert_eq!(version("2.2.5) free"), Some((2, 2)));
        assert!(version("2.9") < version("2.28"));
        assert_eq!(version("PRIVATE)"), None);
    }
}
