//! Cargo's description of the workspace.

use anyhow::{Context, Result};
use serde_json::Value;

use crate::run::{Door, Run};

/// Features of the library with very many dependencies, which only the long run builds.
pub(crate) const HEAVY: &[&str] = &["candle-0_11"];

const LIBRARY: &str = "crossdock";

pub(crate) struct Workspace(Value);

impl Workspace {
    pub(crate) fn of(run: &mut Run<'_>) -> Result<Self> {
        let text = run.stdout(&mut run.door.cargo("metadata --no-deps --format-version 1"))?;
        serde_json::from_str(&text).map(Self).context("`cargo metadata` gave no JSON")
    }

    fn packages(&self) -> impl Iterator<Item = &Value> {
        self.0["packages"].as_array().into_iter().flatten()
    }

    fn library(&self) -> Result<&Value> {
        self.packages().find(|package| package["name"] == LIBRARY).context("crossdock is missing")
    }

    /// The Rust versions of the packages, each once.
    pub(crate) fn rust_versions(&self) -> Vec<&str> {
        let mut versions: Vec<_> =
            self.packages().map(|package| package["rust_version"].as_str().unwrap_or("none")).collect();
        versions.sort_unstable();
        versions.dedup();
        versions
    }

    pub(crate) fn library_features(&self) -> Result<Vec<&str>> {
        let all = self.library()?["features"].as_object().into_iter().flat_map(|features| features.keys());
        Ok(all.map(String::as_str).filter(|name| *name != "default").collect())
    }

    /// The argument for all features in the long run, and for those that are not [`HEAVY`] in any
    /// other. Suites with the same argument share their builds.
    pub(crate) fn features(&self, door: &Door) -> Result<String> {
        Ok(argument(if door.long { self.library_features()? } else { self.light()? }))
    }

    fn light(&self) -> Result<Vec<&str>> {
        Ok(self.library_features()?.into_iter().filter(|feature| !HEAVY.contains(feature)).collect())
    }

    /// The names of the integration tests of the library.
    pub(crate) fn integration_tests(&self) -> Result<Vec<&str>> {
        let targets = self.library()?["targets"].as_array().into_iter().flatten();
        let tests = targets.filter(|target| target["kind"][0] == "test");
        Ok(tests.filter_map(|test| test["name"].as_str()).collect())
    }
}

fn argument<'a>(features: impl IntoIterator<Item = &'a str>) -> String {
    let features: Vec<_> = features.into_iter().map(|feature| format!("{LIBRARY}/{feature}")).collect();
    format!("--features={}", features.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn workspace() -> Workspace {
        let target = |name: &str| json!({ "name": name, "kind": ["test"] });
        Workspace(json!({ "packages": [
            {
                "name": "crossdock", "rust_version": "1.90",
                "features": { "default": [], "candle-0_11": ["dep:candle"], "half-2": ["dep:half"] },
                "targets": [
                    { "name": "crossdock", "kind": ["lib"] }, target("views"), target("matrix")
                ],
            },
            { "name": "tool", "rust_version": "1.90", "features": {}, "targets": [] },
        ] }))
    }

    #[test]
    fn only_the_long_run_has_the_heavy_features() {
        let door = |long| Door { long, ..Door::new(false).unwrap() };
        let features = |long| workspace().features(&door(long)).unwrap();
        assert_eq!(features(true), "--features=crossdock/candle-0_11,crossdock/half-2");
        assert_eq!(features(false), "--features=crossdock/half-2");
        assert_eq!(workspace().library_features().unwrap(), ["candle-0_11", "half-2"]);
    }

    #[test]
    fn integration_tests_are_those_of_the_library() {
        assert_eq!(workspace().integration_tests().unwrap(), ["views", "matrix"]);
    }

    #[test]
    fn rust_versions_are_told_once() {
        assert_eq!(workspace().rust_versions(), ["1.90"]);
    }
}
