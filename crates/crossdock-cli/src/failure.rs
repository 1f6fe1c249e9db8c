//! A failed run: one sentence, and an exit status.

use std::error::Error;
use std::fmt;
use std::path::Path;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use crossdock::bindings::files::Target;
use crossdock::view::Refusal;

use crate::words::words;
use crate::{out, status, terminal};

/// A [`Result`](std::result::Result) whose error is [`Failure`].
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// Why the command ends early.
#[derive(Debug)]
pub(crate) struct Failure {
    text: String,
    status: u8,
}

impl Failure {
    /// A failure or refusal, with a text that says what to do.
    pub(crate) fn new(text: impl fmt::Display) -> Self {
        Self { text: text.to_string(), status: status::FAILED }
    }

    /// Wrong arguments: shortens the parser's paragraphs to one sentence.
    pub(crate) fn usage(error: &clap::Error) -> Self {
        if let (ErrorKind::InvalidSubcommand, Some(ContextValue::String(word))) =
            (error.kind(), error.get(ContextKind::InvalidSubcommand))
            && Target::new(word.as_ref()).is_ok_and(|target| target.path().exists())
        {
            let word = terminal::path(Path::new(word));
            let text = format!("{word} is no subcommand, but a file; write `crossdock inspect {word}`");
            return Self::new(text).with_status(status::USAGE);
        }
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

    /// The file under a map shrank: bytes read from it are not reliable.
    pub(crate) fn shrank(path: &Path, detail: impl fmt::Display) -> Self {
        Self::distrusted(format_args!("{}: {detail}", terminal::path(path)))
    }

    fn distrusted(what: impl fmt::Display) -> Self {
        let text =
            format!("{what}; nothing read since then is reliable; run this again when the file is complete");
        Self { text, status: status::SHRANK }
    }

    /// The same text with another exit status.
    pub(crate) fn with_status(self, status: u8) -> Self {
        Self { status, ..self }
    }

    /// The same failure of `diff`, for which [`status::FAILED`] says that something differs.
    pub(crate) fn into_trouble(self) -> Self {
        let status = if self.status == status::FAILED { status::TROUBLE } else { self.status };
        self.with_status(status)
    }

    /// Whether a mapped file shrank.
    pub(crate) fn is_shrunk(&self) -> bool {
        self.status == status::SHRANK
    }

    /// The same failure, with its context in front.
    pub(crate) fn within(self, context: impl fmt::Display) -> Self {
        Self { text: format!("{context}: {}", self.text), ..self }
    }

    /// Prints the sentence on stderr, on one line.
    pub(crate) fn report(&self) -> ExitCode {
        out::error(&self.text);
        ExitCode::from(self.status)
    }
}

/// The sentence alone, for a failure that is only mentioned.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// For measurements, whose errors are boxed.
impl Error for Failure {}

impl From<Box<dyn Error>> for Failure {
    /// The boxed failure, or the text of another error.
    fn from(error: Box<dyn Error>) -> Self {
        error.downcast().map_or_else(Self::new, |failure| *failure)
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::new(refusal.in_words(words))
    }
}

impl From<crossdock::Error> for Failure {
    /// The error already names its file, if a file caused it.
    fn from(error: crossdock::Error) -> Self {
        let text = error.in_words(words);
        if error.is_fault() { Self::distrusted(text) } else { Self::new(text) }
    }
}
