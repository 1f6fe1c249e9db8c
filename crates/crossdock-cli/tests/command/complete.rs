//! Completion: what the subcommand suggests, and what bash makes of it.

use std::path::Path;
use std::process::Command;

use crossdock::exchange::files::SaveOptions;

use crate::common::{Folder, answer, counterpart, crossdock, data, npy, stdout};

fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    let array = crossdock::open(data("elevation.npy")).unwrap();
    let named = |name: &str| (name.to_owned(), array.clone());
    let names = ["layers.0.q", "layers.0.k", "norm", "two words", "bad\u{1b}[31m"].map(named);
    SaveOptions::new().save_all(folder.path("model.safetensors"), &names).unwrap();
    folder.file("trades.npy", npy("[('price', '<f8'), ('count', '<i4')]", false, "(1,)", &[0; 12]));
    folder
}

fn suggested(folder: &Folder, words: &[&str]) -> Vec<String> {
    let output =
        crossdock([&["complete", "--"], words].concat()).current_dir(folder.path("")).output().unwrap();
    let lines: Vec<String> = stdout(&output).lines().map(str::to_owned).collect();
    assert_eq!(output.status.code(), Some(i32::from(lines.is_empty())));
    lines
}

#[test]
fn words_options_values_and_names_in_files_are_suggested() {
    let folder = folder("complete");
    for (words, expected) in [
        (&["ins"][..], &["inspect"][..]),
        (&["inspect", "--sta"], &["--stats"]),
        (&["inspect", "--sort", ""], &["name", "bytes"]),
        (&["inspect", "--picture=a"], &["--picture=auto", "--picture=ascii"]),
        (&["--color", "al"], &["always"]),
        (&["completions", "f"], &["fish"]),
        (
            &["inspect", "model.safetensors:l"],
            &["model.safetensors:layers.0.q", "model.safetensors:layers.0.k"],
        ),
        (&["lend", "model.safetensors:no"], &["model.safetensors:norm"]),
        (&["inspect", "trades.npy:.p"], &["trades.npy:.price"]),
        (&["inspect", "trades"], &[]),
        (&["inspect", "missing.npz:"], &[]),
        (&["lend", "trades.npy", "--", "ins"], &[]),
    ] {
        assert_eq!(suggested(&folder, words), expected, "{words:?}");
    }
    assert!(suggested(&folder, &["inspect", "--"]).contains(&"--quiet".to_owned()));
    let first = suggested(&folder, &[""]);
    assert!(first.contains(&"diff".to_owned()) && !first.contains(&"complete".to_owned()), "{first:?}");
    // A name that a terminal would act on is not suggested.
    assert_eq!(suggested(&folder, &["inspect", "model.safetensors:"]).len(), 4);
}

#[test]
fn bash_completes_names_behind_a_colon() {
    let Some(bash) = counterpart("BASH", "bash", &["-c", "type complete"]) else { return };
    let folder = folder("complete-bash");
    let script = folder.file("crossdock.bash", answer(&crate::common::run(["completions", "bash"])));
    let program = Path::new(env!("CARGO_BIN_EXE_crossdock")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    for (line, expected) in [
        ("crossdock ins", "inspect"),
        ("crossdock inspect model.safetensors:layers.0.", "layers.0.q\nlayers.0.k"),
        ("crossdock inspect model.safetensors:two", "two\\ words"),
        ("crossdock inspect tra", ""),
    ] {
        let typed = format!(
            "source '{}'; COMP_LINE={line:?}; COMP_POINT=${{#COMP_LINE}}; _crossdock; \
             [[ ${{#COMPREPLY[@]}} = 0 ]] || printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            script.display()
        );
        let mut command = Command::new(&bash);
        command.args(["--norc", "-c", &typed]).env("PATH", &path).current_dir(folder.path(""));
        let output = command.output().unwrap();
        assert_eq!(answer(&output).trim_end(), expected, "{line}");
    }
}
