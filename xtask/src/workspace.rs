//! Cargo's description of the workspace.

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::run::Run;

/// Features of the library with many dependencies: daily work, the sanitizer and the builds of
/// some features without others omit them.
pub(crate) const HEAVY: &[&str] = &["candle-0_11"];

/// Features that the sanitizer omits beside those: conversions of arrays of other crates, which
/// would be instrumented, too. Valgrind runs the tests of all conversions.
const NOT_SANITIZED: &[&str] = &["nalgebra-0_35", "ndarray-0_17"];

const LIBRARY: &str = "crossdock";

pub(crate) struct Workspace(Value);

/// An integration test of the library.
pub(crate) struct IntegrationTest<'a> {
    pub(crate) name: &'a str,
    /// Whether it needs a [`HEAVY`] feature.
    pub(crate) is_heavy: bool,
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

    /// The argument for all features. Suites with the same argument share their builds.
    pub(crate) fn all_features(&self) -> Result<String> {
        Ok(argument(self.library_features()?))
    }

    /// The argument for all features that are not [`HEAVY`].
    pub(crate) fn light_features(&self) -> Result<String> {
        Ok(argument(self.light()?))
    }

    /// The argument for the features with which the address sanitizer runs.
    pub(crate) fn sanitized_features(&self) -> Result<String> {
        let light = self.light()?;
        if let Some(unknown) = NOT_SANITIZED.iter().find(|feature| !light.contains(feature)) {
            bail!("the sanitizer omits the feature `{unknown}`, but there is none");
        }
        Ok(argument(light.into_iter().filter(|feature| !NOT_SANITIZED.contains(feature))))
    }

    pub(crate) fn light(&self) -> Result<Vec<&str>> {
        Ok(self.library_features()?.into_iter().filter(|feature| !HEAVY.contains(feature)).collect())
    }

    pub(crate) fn integration_tests(&self) -> Result<Vec<IntegrationTest<'_>>> {
        let targets = self.library()?["targets"].as_array().into_iter().flatten();
        let tests = targets.filter(|target| target["kind"][0] == "test");
        Ok(tests.filter_map(integration_test).collect())
    }
}

fn argument<'a>(features: impl IntoIterator<Item = &'a str>) -> String {
    let features: Vec<_> = features.into_iter().map(|feature| format!("{LIBRARY}/{feature}")).collect();
    format!("--features={}", features.join(","))
}

/// A few sets of features, such that for any two features some set has only the first: a feature
/// that silently depends on another one fails to build there. Each feature is in half of the sets,
/// and no two features are in the same ones.
pub(crate) fn apart<'a>(features: &[&'a str]) -> Vec<Vec<&'a str>> {
    let choices = |sets: u32| (0_u32..1 << sets).filter(move |choice| choice.count_ones() == sets / 2);
    let sets = (2..u32::BITS).find(|&sets| choices(sets).count() >= features.len()).unwrap_or(u32::BITS);
    let chosen: Vec<_> = features.iter().zip(choices(sets)).collect();
    let set =
        |at| chosen.iter().filter(move |(_, choice)| choice >> at & 1 == 1).map(|(feature, _)| **feature);
    (0..sets).map(|at| set(at).collect()).collect()
}

fn integration_test(target: &Value) -> Option<IntegrationTest<'_>> {
    let mut needs = target["required-features"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let is_heavy = needs.any(|feature| HEAVY.contains(&feature));
    Some(IntegrationTest { name: target["name"].as_str()?, is_heavy })
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
    fn of_any_two_features_a_set_has_the_one_without_the_other() {
        const NAMES: [&str; 20] = [
            "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s",
            "t",
        ];
        for count in 2..=NAMES.len() {
            let sets = apart(&NAMES[..count]);
            assert!(sets.len() <= 6, "{} sets for {count} features", sets.len());
            for one in &NAMES[..count] {
                for other in NAMES[..count].iter().filter(|other| *other != one) {
                    assert!(
                        sets.iter().any(|set| set.contains(one) && !set.contains(other)),
                        "{one}, {other}"
                    );
                }
            }
        }
        assert!(apart(&["a"]).concat().contains(&"a"));
    }

    #[test]
    fn light_features_are_all_but_the_heavy_ones() {
        assert_eq!(workspace().all_features().unwrap(), "--features=crossdock/candle-0_11,crossdock/half-2");
        assert_eq!(workspace().light_features().unwrap(), "--features=crossdock/half-2");
        assert_eq!(workspace().library_features().unwrap(), ["candle-0_11", "half-2"]);
    }

    #[test]
    fn a_test_that_needs_a_heavy_feature_is_heavy() {
        let workspace = workspace();
        let tests = workspace.integration_tests().unwrap();
        let tests: Vec<_> = tests.iter().map(|test| (test.name, test.is_heavy)).collect();
        assert_eq!(tests, [("views", false), ("matrix", true)]);
    }

    #[test]
    fn rust_versions_are_told_once() {
        assert_eq!(workspace().rust_versions(), ["1.90"]);
    }
}
