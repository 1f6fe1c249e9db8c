//! CPython for musl, for the trials of the wheels. Debian has musl, but no CPython of it, which is
//! compiled once for each processor, of Debian's sources, by zig.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::root::{Root, sources};
use super::{Dist, empty};
use crate::provision::DIST;
use crate::run::Run;

/// Compiles CPython with the modules that need no other library but zlib, which its pip needs, into
/// the folder `out`: the processor and zig. What runs while it is built is this machine's CPython,
/// which has to have the same version. Modules are in the program, so that nothing is installed
/// but one program and Python's own modules.
const BUILD: &str = r#"
processor=$1 zig=$2 here=$PWD
cat > cc <<END
#!/bin/sh
case "\$*" in *print-multiarch*) exit;; esac
exec $zig cc -target $processor-linux-musl -dynamic -fno-sanitize=undefined -w -Wno-error=date-time "\$@"
END
printf '#!/bin/sh\nexec %s ar "$@"\n' "$zig" > ar
chmod +x cc ar
for archive in *.orig.tar.*; do python3 -m tarfile -e "$archive" .; done
cd "$here"/zlib-*/
"$here/cc" -O1 -w -DZ_HAVE_UNISTD_H -c ./*.c
"$here/ar" rcs libz.a ./*.o
zlib=$PWD
cd "$here"/Python-*/
# The libraries of this machine are another platform's.
export PKG_CONFIG_LIBDIR=/nonexistent
./configure --quiet --prefix=/python --disable-test-modules --disable-ipv6 --without-ensurepip \
  --build=x86_64-build-linux-musl --host="$processor-linux-musl" --with-build-python=python3 \
  CC="$here/cc" AR="$here/ar" READELF="$(command -v readelf)" OPT="-DNDEBUG -O1 -fwrapv" \
  CPPFLAGS="-I$zlib" LDFLAGS="-L$zlib" MODULE_BUILDTYPE=static \
  ac_cv_file__dev_ptmx=no ac_cv_file__dev_ptc=no ac_cv_func_preadv2=no ac_cv_func_pwritev2=no py_cv_module__crypt=n/a
cp Modules/Setup.stdlib Modules/Setup.local
make --silent -j"$(nproc)" python pybuilddir.txt
modules=$here/out/python/lib/python3.11
mkdir -p "$here/out/python/bin" "$modules/lib-dynload"
cp python "$here/out/python/bin/python3"
cp -r Lib/. "$(cat pybuilddir.txt)"/_sysconfigdata_*.py "$modules"
rm -r "$modules/test"
"#;

/// An archive of CPython in the folder `python`, and of musl's loader, which is musl itself.
pub(super) fn for_musl(run: &mut Run<'_>, dist: &Dist, processor: &str, debian: &str) -> Result<PathBuf> {
    let archive = dist.door.target.join(format!("dist-roots/python-musl-{processor}.tar"));
    if archive.is_file() {
        return Ok(archive);
    }
    let folder = dist.staging("cpython")?;
    download(run, dist, &folder)?;
    let found = run.stdout(
        dist.door.command(DIST.python(&dist.door), "-c").arg("import ziglang; print(ziglang.__path__[0])"),
    )?;
    let mut build = dist.door.command("/bin/sh", "-euc");
    build.args([BUILD, "build", processor]).arg(Path::new(found.trim()).join("zig"));
    run.exec(build.current_dir(&folder)).context("CPython is not built for musl")?;

    let out = folder.join("out");
    let musl = Root::foreign(run, dist, debian, "musl")?;
    let loader = musl.folder().join(format!("lib/{processor}-linux-musl/libc.so"));
    fs::create_dir_all(out.join("lib"))?;
    fs::copy(&loader, out.join(format!("lib/ld-musl-{processor}.so.1")))
        .with_context(|| format!("{} is musl", loader.display()))?;
    run.exec(dist.door.command("tar", "-cf").arg(&archive).arg("-C").arg(&out).arg("."))?;
    fs::remove_dir_all(&folder)?;
    Ok(archive)
}

/// Downloads the sources of Debian's CPython and zlib, of which this machine has no list.
fn download(run: &mut Run<'_>, dist: &Dist, folder: &Path) -> Result<()> {
    let state = dist.door.target.join("dist-roots/apt");
    empty(&state)?;
    fs::create_dir_all(state.join("lists/partial"))?;
    let here = sources().context("this machine names no source of Debian's packages")?;
    let text = fs::read_to_string(here)?;
    let lines = text.lines().map(|line| match line.strip_prefix("deb ") {
        Some(rest) => format!("deb-src {rest}\n"),
        None => format!("{}\n", line.replace("Types: deb", "Types: deb-src")),
    });
    let list = state.join(here.file_name().context("a list has a name")?);
    fs::write(&list, lines.collect::<String>())?;
    // Without Debian's changes.
    for task in ["update", "source --download-only --tar-only python3.11 zlib"] {
        let mut apt = dist.door.command("apt-get", "-o Dir::Etc::SourceParts=- -o");
        apt.arg(format!("Dir::Etc::SourceList={}", list.display()));
        apt.arg("-o").arg(format!("Dir::State::Lists={}", state.join("lists").display()));
        run.exec(apt.args(task.split(' ')).current_dir(folder))
            .context("the sources of CPython could not be had (does the package registry answer?)")?;
    }
    Ok(())
}
