//! Cargo's description of the workspace.

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::run::{Door, Run};

/// Features of the library with very many dependencies, which only the long run builds.
pub(crate) const HEAVY: &[&str] = &["candle-0_11"];

/// Features that the sanitizer omits beside those: conversions of arrays of other crates, which
/// would be instrumented, too. Valgrind runs the tests of all conversions.
const NOT_SANITIZED: &[&str] = &["nalgebra-0_35", "ndarray-0_17"];

const LIBRARY: &str = "crossdock";

pub(crate) struct Workspace(Value);

/// An integration test of the library.
pub(crate) struct IntegrationTest<'a> {
    pub(crate) name: &'a str,
    /// The features without which it does not compile.
    pub(crate) needs: Vec<&'a str>,
}

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

    /// The features with which the address sanitizer runs.
    pub(crate) fn sanitized(&self) -> Result<Vec<&str>> {
        let mut features = self.light()?;
        if let Some(unknown) = NOT_SANITIZED.iter().find(|feature| !features.contains(feature)) {
            bail!("the sanitizer omits the feature `{unknown}`, but there is none");
        }
        features.retain(|feature| !NOT_SANITIZED.contains(feature));
        Ok(features)
    }

    fn light(&self) -> Result<Vec<&str>> {
        Ok(self.library_features()?.into_iter().filter(|feature| !HEAVY.contains(feature)).collect())
    }

    pub(crate) fn integration_tests(&self) -> Result<Vec<IntegrationTest<'_>>> {
        let targets = self.library()?["targets"].as_array().into_iter().flatten();
        let tests = targets.filter(|target| target["kind"][0] == "test");
        Ok(tests.filter_map(integration_test).collect())
    }
}

/// The argument for these features of the library.
pub(crate) fn argument<'a>(features: impl IntoIterator<Item = &'a str>) -> String {
    let features: Vec<_> = features.into_iter().map(|feature| format!("{LIBRARY}/{feature}")).collect();
    format!("--features={}", features.join(","))
}

fn integration_test(target: &Value) -> Option<IntegrationTest<'_>> {
    let needs = target["required-features"].as_array().into_iter().flatten().filter_map(Value::as_str);
    Some(IntegrationTest { name: target["name"].as_str()?, needs: needs.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn workspace() -> Workspace {
        let target = |name: &str, needs: &[&str]| json!({ "name": name, "kind": ["test"], "required-features": needs });
        Workspace(json!({ "packages": [
            {
                "name": "crossdock", "rust_version": "1.90",
                "features": { "default": [], "candle-0_11": ["dep:candle"], "half-2": ["dep:half"] },
                "targets": [
                    { "name": "crossdock", "kind": ["lib"] }, target("views", &[]), target("matrix", &["half-2", "candle-0_11"])
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
    fn the_features_that_a_test_needs_are_told() {
        let workspace = workspace();
        let tests = workspace.integration_tests().unwrap();
        let tests: Vec<_> = tests.into_iter().map(|test| (test.name, test.needs)).collect();
        assert_eq!(tests, [("views", vec![]), ("matrix", vec!["half-2", "candle-0_11"])]);
    }

    #[test]
    fn rust_versions_are_told_once() {
        assert_eq!(workspace().rust_versions(), ["1.90"]);
    }
}
