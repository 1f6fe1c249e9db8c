//! `crossdock inspect` of several arrays and of several files: trees, filters, folders and
//! checkpoints.

use std::path::{Path, PathBuf};

use crossdock::exchange::files::SaveOptions;
use crossdock::{Array, DArray};
use serde_json::{Value, json};

use crate::common::{Folder, answer, data, refusal, run, stderr, stdout};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn as_json(arguments: &[&str]) -> Value {
    serde_json::from_str(&answer(&run([&["inspect", "--json"], arguments].concat()))).unwrap()
}

fn weight(rows: usize) -> DArray {
    Array::from_vec(vec![1f32; rows * 4], [rows, 4]).unwrap().into()
}

/// The arrays of a model of three layers.
fn model() -> Vec<(String, DArray)> {
    let layer = |layer| {
        [("q", 4), ("k", 2)].map(|(part, rows)| (format!("model.layers.{layer}.{part}.weight"), weight(rows)))
    };
    let ends = [("model.embed.weight".to_owned(), weight(8)), ("norm".to_owned(), weight(1))];
    ends.into_iter().chain((0..3).flat_map(layer)).collect()
}

/// The model in two files with an index.
fn checkpoint(folder: &Folder) -> PathBuf {
    let all = model();
    let (first, second) = all.split_at(4);
    let mut map = serde_json::Map::new();
    for (file, arrays) in [("a-00001.safetensors", first), ("a-00002.safetensors", second)] {
        SaveOptions::new().metadata("format", "pt").save_all(folder.path(file), arrays).unwrap();
        map.extend(arrays.iter().map(|(name, _)| (name.clone(), file.into())));
    }
    let index = json!({ "metadata": { "total_size": 0 }, "weight_map": map });
    folder.file("a.safetensors.index.json", index.to_string())
}

#[test]
fn names_are_a_tree_with_totals_and_alike_layers_once() {
    let folder = Folder::new("listing-tree");
    let path = folder.path("model.safetensors");
    SaveOptions::new().save_all(&path, &model()).unwrap();
    let told = answer(&run(["inspect", text(&path)]));
    let names: Vec<&str> = told.lines().skip_while(|line| !line.starts_with("  name")).skip(1).collect();
    let starts = [
        "  model                       7 arrays",
        "    embed.weight     float32  8 x 4",
        "    layers                    6 arrays",
        "      0 … 2 (3 alike)         6 arrays",
        "        q.weight     float32  4 x 4",
        "        k.weight     float32  2 x 4",
        "  norm               float32  1 x 4",
    ];
    assert!(told.contains("  8 arrays of 432 B in a .safetensors file"), "{told}");
    assert!(told.contains("  108 elements: 432 B of float32"), "{told}");
    let is_there = |start: &&str| {
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let indent = |line: &str| line.len() - line.trim_start().len();
        names.iter().any(|line| words(line).starts_with(&words(start)) && indent(line) == indent(start))
    };
    for start in &starts {
        assert!(is_there(start), "{start:?} is missing in\n{told}");
    }
    assert_eq!(names.len(), starts.len(), "{told}");
    let totals = &as_json(&[text(&path)])["totals"];
    assert_eq!(*totals, json!({"arrays": 8, "elements": 108, "nbytes": 432, "by_dtype": {"float32": 432}}));
}

#[test]
fn arrays_are_filtered_and_sorted() {
    let folder = Folder::new("listing-filter");
    let path = folder.path("model.safetensors");
    SaveOptions::new().save_all(&path, &model()).unwrap();
    let names = |arguments: &[&str]| -> Vec<String> {
        let told = as_json(&[&[text(&path)], arguments].concat());
        assert_eq!(told["schema"], "crossdock.file/1");
        told["arrays"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let layer = ["model.layers.1.q.weight", "model.layers.1.k.weight"];
    assert_eq!(names(&["--filter", "model.layers.1.*"]), layer);
    assert_eq!(names(&["--filter", "*.1.?.weight", "--sort", "name"]), [layer[1], layer[0]]);
    assert_eq!(names(&["--sort", "bytes"])[0], "model.embed.weight");
    let told = answer(&run(["inspect", text(&path), "--filter", "*.1.*"]));
    assert!(told.contains("  2 arrays (of 8) of 96 B"), "{told}");
    let said = refusal(&run(["inspect", text(&path), "--filter", "nrom"]), 1);
    assert!(said.contains("matches \"nrom\"; did you mean \"norm\"?"), "{said}");
}

#[test]
fn a_checkpoint_in_several_files_is_one() {
    let folder = Folder::new("listing-shards");
    let index = checkpoint(&folder);
    for target in [text(&index), text(&folder.path(""))] {
        let told = as_json(&[target]);
        assert_eq!((&told["files"], &told["totals"]["arrays"]), (&json!(2), &json!(8)));
        assert_eq!(told["arrays"][0]["file"], "a-00001.safetensors");
        assert_eq!(told["metadata"], json!({"format": "pt"}));
        let shown = answer(&run(["inspect", target]));
        assert!(shown.contains("8 arrays of 432 B in 2 .safetensors files"), "{shown}");
        let name = |name: &str| format!("{target}:{name}");
        assert_eq!(as_json(&[&name("model.layers.2.k.weight[0]")])["shape"], json!([4]));
        assert!(run(["lend", &name("norm"), "--", "true"]).status.success());
        let said = refusal(&run(["inspect", &name("nrom[0]")]), 1);
        assert!(said.contains("did you mean \"norm\"?"), "{said}");
    }
    let (one, other) = (folder.path("one.safetensors"), folder.path("other.safetensors"));
    for target in [text(&index), text(&folder.path(""))] {
        answer(&run(["convert", target, text(&one), "--force"]));
        assert_eq!(as_json(&[text(&one)])["totals"], as_json(&[target])["totals"]);
        assert_eq!(as_json(&[text(&one)])["metadata"], json!({"format": "pt"}));
        assert_eq!(answer(&run(["diff", target, text(&one)])), answer(&run(["diff", text(&one), target])));
        answer(&run(["diff", target, target]));
        SaveOptions::new().save_all(&other, &model()[1..]).unwrap();
        let told = run(["diff", target, text(&other)]);
        assert_eq!(told.status.code(), Some(1));
        assert!(stdout(&told).contains(&model()[0].0), "{told:?}");
        for arguments in [&["cat", target][..], &["convert", target, text(&folder.path("a.npy"))]] {
            let said = refusal(&run(arguments), 1);
            assert!(said.contains("the checkpoint has 8 arrays; name one, as FILE:NAME"), "{said}");
        }
    }
    let outside = json!({ "weight_map": { "a": "../../etc/passwd" } }).to_string();
    for (content, says) in
        [(outside.as_str(), "beside the index"), ("[]", "index of a checkpoint"), ("{", "index")]
    {
        std::fs::write(&index, content).unwrap();
        assert!(refusal(&run(["inspect", text(&index)]), 1).contains(says), "{content}");
    }
    let lacking = json!({ "weight_map": { "a": "a-00001.safetensors" } }).to_string();
    std::fs::write(&index, lacking).unwrap();
    let said = refusal(&run(["convert", text(&index), text(&one), "--force"]), 1);
    assert!(said.contains("array \"a\" is in \"a-00001.safetensors\", which has none"), "{said}");
    let missing = json!({ "weight_map": { "a": "missing.safetensors" } }).to_string();
    std::fs::write(&index, missing).unwrap();
    for arguments in [&["inspect", text(&index)][..], &["convert", text(&index), text(&one), "--force"]] {
        let said = refusal(&run(arguments), 1);
        assert!(said.contains("its file \"missing.safetensors\" with 1 array is missing; copy it"), "{said}");
    }
}

#[test]
fn many_files_are_a_table_and_a_failure_does_not_hide_the_others() {
    let folder = Folder::new("listing-files");
    let (a, inner) = (folder.path("a.npy"), folder.path("inner"));
    std::fs::create_dir(&inner).unwrap();
    std::fs::copy(data("elevation.npy"), &a).unwrap();
    SaveOptions::new().save_all(inner.join("two.npz"), &model()[..2]).unwrap();
    folder.file("notes.txt", "no array");
    let pattern = folder.path("*.npy");
    for arguments in [&[text(&folder.path(""))][..], &[text(&pattern), text(&inner.join("two.npz"))]] {
        let told = answer(&run([&["inspect"], arguments].concat()));
        assert!(told.contains("a.npy") && told.contains("344 x 403") && told.contains("2 arrays"), "{told}");
        assert!(told.contains("2 files, 138668 elements, 277408 B"), "{told}");
        let listed = as_json(arguments);
        assert_eq!(listed["schema"], "crossdock.files/1");
        let schemas: Vec<&Value> =
            listed["files"].as_array().unwrap().iter().map(|file| &file["schema"]).collect();
        assert_eq!(schemas, ["crossdock.array/1", "crossdock.file/1"]);
    }
    let part = format!("{}[0]", text(&a));
    let told = answer(&run(["inspect", &part, text(&a), "--values=1"]));
    assert!(told.contains("  shape      403\n") && told.contains("  shape      344 x 403\n"), "{told}");
    folder.file("bad.npy", "not an array");
    let output = run(["inspect", text(&folder.path(""))]);
    assert_eq!((output.status.code(), stderr(&output).lines().count()), (Some(1), 1));
    assert!(stdout(&output).contains("2 files, ") && stderr(&output).contains("bad.npy"));
    assert!(refusal(&run(["inspect", text(&folder.path("*.png"))]), 1).contains("no file matches"));
    let empty = folder.path("empty");
    std::fs::create_dir(&empty).unwrap();
    assert!(refusal(&run(["inspect", text(&empty)]), 1).contains("without files of arrays"));
}
