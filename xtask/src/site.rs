//! The suite of the site: the guide and the reference pages, built by the generator that the
//! repository pins.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::provision::SITE;
use crate::run::Run;

/// Builds the site into the target folder. A link to a missing page or heading, and a page without
/// a place in the navigation, are errors.
pub(crate) fn build(run: &mut Run<'_>) -> Result<()> {
    let folder = run.door.target.join("site");
    let mut build = run.door.command(SITE.python(run.door), "-m mkdocs build --strict --clean --site-dir");
    // The theme announces its successor on every build.
    run.exec(build.arg(&folder).env("NO_MKDOCS_2_WARNING", "1"))?;
    run.note(format!("{} pages in {}", pages(&folder)?, folder.display()));
    Ok(())
}

/// The number of pages below `folder`.
fn pages(folder: &Path) -> Result<usize> {
    let mut count = 0;
    for entry in fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            count += pages(&path)?;
        } else if path.extension().is_some_and(|ending| ending == "html") {
            count += 1;
        }
    }
    Ok(count)
}
