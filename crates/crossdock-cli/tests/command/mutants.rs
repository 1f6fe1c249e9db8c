//! Damaged files of every format, given to the whole command under a limit of memory and of time.

use std::path::Path;
use std::process::Command;

use crossdock_testkit::{cases, mutate, rounds, seed};
use fastrand::Rng;

use crate::common::{Folder, stderr};

/// The formats: the folder of their seeds, and the ending of their files.
const FORMATS: [(&str, &str); 12] = [
    ("npy", "npy"),
    ("npz", "npz"),
    ("safetensors", "safetensors"),
    ("png", "png"),
    ("jpeg", "jpg"),
    ("tiff", "tiff"),
    ("gguf", "gguf"),
    ("nifti", "nii"),
    ("fits", "fits"),
    ("pnm", "ppm"),
    ("mat", "mat"),
    ("torch", "pt"),
];

/// What is done with the file `x`.
const TYPED: [&[&str]; 7] = [
    &["inspect", "x"],
    &["inspect", "x", "--stats", "--values", "--picture=ascii", "--protocols"],
    &["inspect", "x", "--json", "--stats", "--verify"],
    &["convert", "x", "out.npz", "--force", "--deflate", "--skip-refused", "--verify"],
    &[
        "convert",
        "x",
        "out.raw",
        "--force",
        "--order",
        "F",
        "--dtype",
        "int16",
        "--saturate",
        "--memory",
        "1M",
    ],
    &["cat", "x", "--csv"],
    &["diff", "x", "x", "--equal-nan"],
];

/// Runs the command with 4 GiB of address space and 20 seconds of a CPU.
fn check(folder: &Folder, name: &str, arguments: &[&str], seed: &Path) {
    let mut command = Command::new("sh");
    command.args([
        "-c",
        "ulimit -v 4194304; ulimit -t 20; exec \"$0\" \"$@\"",
        env!("CARGO_BIN_EXE_crossdock"),
    ]);
    command.args(arguments.iter().map(|&word| if word == "x" { name } else { word }));
    let output = command.current_dir(folder.path("")).output().unwrap();
    let said = stderr(&output);
    let kept = || {
        // Kept for the one who mends it.
        let path = std::env::temp_dir().join(format!("crossdock-mutant-{}-{name}", std::process::id()));
        std::fs::copy(folder.path(name), &path).unwrap();
        format!("{} with {arguments:?}, of {}: {}: {said}", path.display(), seed.display(), output.status)
    };
    assert!(matches!(output.status.code(), Some(0..=2)), "{}", kept());
    assert!(
        said.lines().all(|line| line.starts_with("crossdock: ")) && !said.contains("panicked"),
        "{}",
        kept()
    );
}

/// By hand: `CROSSDOCK_CASES=10000`.
#[test]
fn mutants_of_every_format_end_with_an_answer_in_time_and_memory() {
    let folder = Folder::new("mutants");
    let mut rng = Rng::with_seed(seed());
    let wanted = std::env::var("CROSSDOCK_MUTANTS").ok();
    for (format, ending) in
        FORMATS.into_iter().filter(|(format, _)| wanted.as_deref().is_none_or(|one| one == *format))
    {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(format);
        let mut seeds: Vec<_> = std::fs::read_dir(corpus).unwrap().map(|file| file.unwrap().path()).collect();
        seeds.sort();
        let name = format!("x.{ending}");
        for _ in 0..rounds(5).max(if cases(0) >= 10_000 { cases(0) } else { 0 }) {
            let seed = &seeds[rng.usize(..seeds.len())];
            let mut bytes = std::fs::read(seed).unwrap();
            mutate(&mut bytes, &mut rng);
            folder.file(&name, &bytes);
            check(&folder, &name, TYPED[rng.usize(..TYPED.len())], seed);
        }
    }
}
