//! The library's declarations against a C header of a Python package: a C file with the library's
//! offsets and numbers as static assertions, which must compile.

use std::path::{Path, PathBuf};
use std::process::Command;

use crossdock_testkit::{c_compiler, missing};

/// The lines that assert the sizes of structs, and the offsets of their fields. `$c` is the prefix
/// of a name in C.
macro_rules! structs {
    ($c:literal: $($name:ident { $($field:ident),* })*) => {{
        use std::fmt::Write as _;
        let mut text = String::new();
        $(
            writeln!(text, "SAME(sizeof({}{}), {});", $c, stringify!($name), size_of::<$name>()).unwrap();
            $(
                let offset = std::mem::offset_of!($name, $field);
                let (name, field) = (stringify!($name), stringify!($field));
                writeln!(text, "SAME(offsetof({}{name}, {field}), {offset});", $c).unwrap();
            )*
        )*
        text
    }};
}
pub(crate) use structs;

/// A header, and where it is searched.
pub(crate) struct Header {
    /// The included path, below the folder.
    pub(crate) path: &'static str,
    /// The Python package that contains it, in its folder `include`.
    pub(crate) package: &'static str,
    /// The environment variable that names the folder instead.
    pub(crate) variable: &'static str,
}

impl Header {
    /// The folder of the header, or why there is none.
    fn folder(&self) -> Result<PathBuf, String> {
        if let Some(folder) = std::env::var_os(self.variable) {
            return Ok(folder.into());
        }
        let python = std::env::var_os("CROSSDOCK_PYTHON").unwrap_or_else(|| "python3".into());
        let script = format!(
            "import importlib.util, os, sys
found = importlib.util.find_spec('{0}')
sys.exit('there is no package {0}') if found is None else print(os.path.dirname(found.origin))",
            self.package
        );
        let output = Command::new(&python)
            .args(["-c", &script])
            .output()
            .map_err(|error| format!("{python:?}: {error}"))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
        }
        let folder = Path::new(String::from_utf8_lossy(&output.stdout).trim()).join("include");
        let header = folder.join(self.path);
        if header.is_file() { Ok(folder) } else { Err(format!("{} is missing", header.display())) }
    }

    /// Whether a C file with these assertions compiles.
    fn compiles(&self, folder: &Path, assertions: &str) -> Result<bool, String> {
        let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}_header.c", self.package));
        let text = format!(
            "#include <stddef.h>\n#include <{}>\n#define SAME(a, b) _Static_assert((a) == (b), #a)\n{assertions}",
            self.path
        );
        std::fs::write(&source, text).map_err(|error| error.to_string())?;
        let output = c_compiler().args(["-std=c11", "-fsyntax-only", "-I"]).arg(folder).arg(&source).output();
        let output = output.map_err(|error| format!("cc: {error}"))?;
        eprintln!("{}", String::from_utf8_lossy(&output.stderr));
        Ok(output.status.success())
    }

    /// Asserts that the assertions hold, and that a false one is detected. Asserts nothing if the
    /// header is missing, unless counterparts are required.
    #[track_caller]
    pub(crate) fn assert_same(&self, assertions: &str, false_one: &str) {
        let checked = self.folder().and_then(|folder| {
            let good = self.compiles(&folder, assertions)?;
            Ok((good, self.compiles(&folder, &format!("{assertions}{false_one}\n"))?))
        });
        match checked {
            Ok(answers) => assert_eq!(answers, (true, false)),
            Err(reason) => missing(&format!("the header {} ({reason})", self.path)),
        }
    }
}
