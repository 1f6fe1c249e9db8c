//! Peers in their own processes. They measure the time themselves, and answer over a pipe for
//! each sample, so that they take part in the same rounds.
//!
//! Their first line is `ready` or `declined`. Then each line of input is a number of repetitions,
//! answered with nanoseconds; `?` asks whether the target is right, answered with 0 or 1.

use std::cell::RefCell;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::rc::Rc;
use std::time::Duration;

use crossdock_measure::{Job, Result};

/// A peer process.
pub(super) struct Peer {
    child: Child,
    questions: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    /// Starts it; `None` if it does not support the work.
    pub(super) fn start(command: &mut Command) -> Result<Option<Self>> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let answers = BufReader::new(child.stdout.take().ok_or("the peer has no output")?);
        let mut peer = Self { questions: child.stdin.take(), answers, child };
        match peer.answer()?.as_str() {
            "ready" => Ok(Some(peer)),
            "declined" => Ok(None),
            other => Err(format!("the peer is not ready, but says {other:?}").into()),
        }
    }

    /// Its work, as a job.
    pub(super) fn job<'a>(self) -> Job<'a> {
        let peer = Rc::new(RefCell::new(self));
        let asked = Rc::clone(&peer);
        Job::timed(
            move |count| Ok(Duration::from_nanos(peer.borrow_mut().ask(&count.to_string())?)),
            move || Ok(asked.borrow_mut().ask("?")? == 1),
        )
    }

    fn ask(&mut self, question: &str) -> Result<u64> {
        writeln!(self.questions.as_mut().ok_or("the peer has no input")?, "{question}")?;
        Ok(self.answer()?.parse()?)
    }

    fn answer(&mut self) -> Result<String> {
        let mut answer = String::new();
        self.answers.read_line(&mut answer)?;
        Ok(answer.trim().to_owned())
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // The process ends at the end of its input.
        drop(self.questions.take());
        let _ = self.child.wait();
    }
}

/// The serving side, for a job or none.
pub(super) fn serve(job: Option<Job<'_>>) -> Result {
    let Some(mut job) = job else {
        println!("declined");
        return Ok(());
    };
    println!("ready");
    for line in io::stdin().lines() {
        match line?.as_str() {
            "?" => println!("{}", u8::from(job.is_done()?)),
            count => println!("{}", job.run(count.parse()?)?.as_nanos()),
        }
    }
    Ok(())
}
