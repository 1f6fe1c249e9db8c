//! WebAssembly with WASI: zig links it, with zig's own library of C, and wasmtime runs it.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use anyhow::{Context, Result};

use crate::provision::PLATFORMS_VENV;
use crate::run::Door;

/// Starts zig as the linker. It refuses the flags that the compiler has for another linker, and
/// would leave its library of C out.
const LINKER: &str = r#"#!/bin/sh
for word; do
  shift
  case $word in
    --target=* | -Wl,* | -nodefaultlibs) ;;
    *) set -- "$@" "$word" ;;
  esac
done
exec PYTHON -m ziglang cc -target wasm32-wasi "$@"
"#;

/// The compiler's flags: it has no linker and no library of C for this platform.
pub(super) fn flags(door: &Door) -> Result<Vec<String>> {
    let path = door.target.join("platforms/wasi-linker");
    let python = format!("'{}'", PLATFORMS_VENV.python(door).display());
    fs::write(&path, LINKER.replace("PYTHON", &python))
        .with_context(|| format!("{} cannot be written", path.display()))?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    let linker = format!("-Clinker={}", path.display());
    let others = ["-Clinker-flavor=wasm-lld-cc", "-Zunstable-options", "-Clink-self-contained=no"];
    Ok([linker].into_iter().chain(others.map(str::to_owned)).collect())
}

/// The command that starts programs.
pub(super) fn runner(door: &Door) -> Vec<String> {
    let words = [PLATFORMS_VENV.python(door), door.root.join("xtask/platforms/wasi.py")];
    words.map(|word| word.display().to_string()).to_vec()
}
