//! Every target runs on all inputs of its corpus, and on damaged ones, without libFuzzer. No other
//! test of this program opens files, since some targets count the descriptors of the process.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};

use crossdock_testkit::{cases, mutate, seed};
use fastrand::Rng;

use crate::TARGETS;

/// As for libFuzzer: longer inputs are cut.
const LONGEST_INPUT: usize = 4096;

/// What lies in a folder of `fuzz`, sorted.
fn entries(folder: impl AsRef<Path>) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

fn stems(paths: &[PathBuf]) -> Vec<OsString> {
    paths.iter().map(|path| path.file_stem().expect("a name").to_owned()).collect()
}

#[test]
fn every_target_takes_all_inputs_of_its_corpus_and_damaged_ones() {
    let names: Vec<_> = TARGETS.iter().map(|(name, _)| OsString::from(name)).collect();
    assert_eq!(stems(&entries("fuzz_targets")), names);
    assert_eq!(stems(&entries("corpus")), names);

    let (damaged, mut rng) = (cases(1000), Rng::with_seed(seed()));
    // Whatever ends the process, the input that did is there.
    let current = std::env::temp_dir().join(format!("crossdock-fuzz-{}", std::process::id()));
    let mut file = File::create(&current).expect("a new file");
    for (name, target) in TARGETS {
        let paths = entries(Path::new("corpus").join(name));
        assert!(!paths.is_empty(), "{name} has no seeds");
        println!("{name}: {} inputs, and {damaged} damaged ones; {}", paths.len(), current.display());
        let mut run = |bytes: &[u8]| {
            let bytes = &bytes[..bytes.len().min(LONGEST_INPUT)];
            // Without closing it each time, on which some file systems write to the disk.
            file.rewind().and_then(|()| file.write_all(bytes)).expect("space for an input");
            file.set_len(bytes.len() as u64).expect("a file of that length");
            target(bytes);
        };
        let inputs: Vec<_> = paths.iter().map(|path| fs::read(path).expect("a readable input")).collect();
        inputs.iter().for_each(|bytes| run(bytes));
        for _ in 0..damaged {
            let mut bytes = inputs[rng.usize(..inputs.len())].clone();
            mutate(&mut bytes, &mut rng);
            run(&bytes);
        }
    }
    fs::remove_file(current).expect("the last input");
}
