//! How a run ends that did not go well: one sentence, and an exit status.

use std::error::Error;
use std::fmt;
use std::path::Path;
use std::process::ExitCode;

use crossdock::view::Refusal;

use crate::{out, status};

/// What may end in a [`Failure`].
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// Why the command ends early.
#[derive(Debug)]
pub(crate) struct Failure {
    text: String,
    status: u8,
}

impl Failure {
    /// It failed, or was refused, for a reason that says what to do.
    pub(crate) fn new(text: impl fmt::Display) -> Self {
        Self { text: text.to_string(), status: status::FAILED }
    }

    /// The arguments are wrong: what the parser says of them in paragraphs, in one sentence.
    pub(crate) fn usage(error: &clap::Error) -> Self {
        let rendered = error.render().to_string();
        let said = rendered.split("\n\n").map(str::trim).filter(|paragraph| {
            paragraph.starts_with("error:") || paragraph.starts_with("tip:") || !paragraph.contains(':')
        });
        let words = |paragraph: &str| {
            let text = paragraph.trim_start_matches("error: ").trim_start_matches("tip: ");
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let mut sentences: Vec<String> =
            said.map(words).filter(|text| !text.starts_with("For more")).collect();
        let usage = rendered.lines().find_map(|line| line.strip_prefix("Usage: "));
        sentences.extend(usage.map(|usage| format!("usage: {}", words(usage))));
        Self::new(format_args!("{}; try --help", sentences.join("; "))).with_status(status::USAGE)
    }

    /// The file under a map shrank: what was read of it is not to be trusted.
    pub(crate) fn shrank(path: &Path, detail: impl fmt::Display) -> Self {
        Self::distrusted(format_args!("{}: {detail}", path.display()))
    }

    fn distrusted(what: impl fmt::Display) -> Self {
        let text = format!(
            "{what}; nothing that was read since is to be trusted: run this again once the file is whole"
        );
        Self { text, status: status::SHRANK }
    }

    /// The same reason under another exit status.
    pub(crate) fn with_status(self, status: u8) -> Self {
        Self { status, ..self }
    }

    /// The same, with where it happened in front.
    pub(crate) fn within(self, context: impl fmt::Display) -> Self {
        Self { text: format!("{context}: {}", self.text), ..self }
    }

    /// Says it on stderr, on one line.
    pub(crate) fn report(&self) -> ExitCode {
        out::error(&self.text);
        ExitCode::from(self.status)
    }
}

/// The sentence itself, for where a failure is only told of.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// For measurements, whose errors are boxed.
impl Error for Failure {}

impl From<Box<dyn Error>> for Failure {
    /// The failure that was boxed, or the words of another error.
    fn from(error: Box<dyn Error>) -> Self {
        error.downcast().map_or_else(Self::new, |failure| *failure)
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::new(refusal)
    }
}

impl From<crossdock::Error> for Failure {
    /// An error that names its file already, where a file is to blame.
    fn from(error: crossdock::Error) -> Self {
        if error.is_fault() { Self::distrusted(error) } else { Self::new(error) }
    }
}
