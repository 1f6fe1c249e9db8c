//! Loops in another process: with another global allocator, which a program chooses once, or in an
//! interpreter.
//!
//! The benchmark requests each sample over a pipe, so that the companion's loops take part in the
//! rounds; the companion measures the time.

use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use crate::loops::NAMED;
use crate::{Result, threads};

/// The program, which is built beside this one.
const PROGRAM: &str = "with-mimalloc";

/// A companion's process.
pub(crate) struct Companion {
    child: Child,
    questions: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

/// The path of the companion, if it exists.
pub(crate) fn path() -> io::Result<Option<PathBuf>> {
    let path = std::env::current_exe()?.with_file_name(PROGRAM);
    Ok(path.is_file().then_some(path))
}

impl Companion {
    /// Starts the companion with mimalloc, if it exists.
    pub(crate) fn with_mimalloc() -> Result<Option<Self>> {
        path()?.map(|path| Self::start(&mut Command::new(path))).transpose()
    }

    /// Starts a program that answers like [`serve`].
    pub(crate) fn start(program: &mut Command) -> Result<Self> {
        let mut child = program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let answers = BufReader::new(child.stdout.take().ok_or("the companion has no output")?);
        Ok(Self { questions: child.stdin.take(), answers, child })
    }

    /// Runs a loop of [`NAMED`] on one thread or on two: its duration, and the sum of the results.
    ///
    /// # Panics
    ///
    /// If the companion has ended.
    pub(crate) fn run(
        &mut self,
        name: &str,
        threads: usize,
        count: usize,
        nbytes: usize,
    ) -> (Duration, usize) {
        self.ask(&format!("{name} {threads} {count} {nbytes}")).expect("the companion answers")
    }

    /// The time of the requested loop, and the sum of the results.
    pub(crate) fn ask(&mut self, question: &str) -> Result<(Duration, usize)> {
        let questions = self.questions.as_mut().ok_or("the companion has no input")?;
        writeln!(questions, "{question}")?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer)?;
        let (nanoseconds, sum) = answer.trim().split_once(' ').ok_or("the companion said nothing")?;
        Ok((Duration::from_nanos(nanoseconds.parse()?), sum.parse()?))
    }
}

impl Drop for Companion {
    fn drop(&mut self) {
        // The companion ends at the end of its input.
        drop(self.questions.take());
        let _ = self.child.wait();
    }
}

/// The companion's side.
pub(crate) fn serve() -> Result {
    for line in io::stdin().lines() {
        let line = line?;
        let [name, threads, count, nbytes] = line.split(' ').collect::<Vec<_>>()[..] else {
            return Err(format!("`{line}` is no question").into());
        };
        let &(_, run) =
            NAMED.iter().find(|(known, _)| *known == name).ok_or_else(|| format!("no loop `{name}`"))?;
        let (count, nbytes) = (count.parse()?, nbytes.parse()?);
        let (elapsed, sum) = if threads == "1" {
            let start = Instant::now();
            let sum = run(count, nbytes);
            (start.elapsed(), sum)
        } else {
            threads::on_two(count, |count| run(count, nbytes))
        };
        println!("{} {sum}", elapsed.as_nanos());
    }
    Ok(())
}
