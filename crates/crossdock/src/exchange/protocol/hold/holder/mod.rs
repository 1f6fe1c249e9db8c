//! The process that keeps sets: it owns their descriptors and maps none of them.
//!
//! ```text
//!   step ── accept · receive ──> serve ── one request ──> HeldName (versions, writer) ── replies ──> Client (queue)
//!     └──── sweep: who is gone gives its lease back; old versions without readers go
//! ```
//!
//! One thread serves all clients: nothing blocks, each client is read once per step, and a client
//! that does not take its replies is read no further.

mod client;
mod handover;
mod held;
mod numbers;
mod recover;
mod serve;

use std::fmt;
use std::fs::File;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::{Duration, Instant};

use crate::error::{Error, Kind, Result, system_text};
use crate::exchange::protocol::hold::builder::SealedSet;
use crate::exchange::protocol::hold::folder::{self, Folder};
use crate::exchange::protocol::hold::holder::client::{Client, PATIENCE};
use crate::exchange::protocol::hold::holder::held::HeldName;
use crate::exchange::protocol::hold::holder::recover::FoundSets;
use crate::exchange::protocol::hold::label::Label;
use crate::exchange::protocol::hold::limits::Limits;
use crate::exchange::protocol::hold::message::Reply;
use crate::exchange::protocol::hold::socket::{self, Interest, Socket, user};

/// How long no connection is accepted after the system refused one.
const PAUSE: Duration = Duration::from_millis(100);

/// The most connections accepted of one name before other clients are served again.
const ACCEPTED_AT_ONCE: usize = 16;

/// Keeps sets of arrays for other processes of the same user, under names.
///
/// A holder keeps descriptors and never maps them, so it needs no memory of its own. Each name has
/// a socket in a folder that only this user can enter. The sets of a dropped holder live on in the
/// processes that read them.
///
/// ```
/// use crossdock::element::DType;
/// use crossdock::exchange::protocol::hold::{self, SetHolder, Label, Limits, SetBuilder};
/// # let name = format!("doc-holder-{}", std::process::id());
/// # let name: Label = name.parse()?;
///
/// let mut holder = SetHolder::new(Limits::new())?;
/// holder.claim(&name)?; // such as "llama".parse()?
/// let mut builder = SetBuilder::new();
/// builder.array("w", DType::F32, &[1000])?;
/// let draft = builder.allocate(&holder.next(&name)?)?; // m@1
/// holder.commit(draft.seal()?)?;
/// let holder = std::thread::spawn(move || holder.run(None));
///
/// let set = hold::connect(&name)?; // in any process of this user
/// assert_eq!(set.get("w")?.shape(), [1000]);
/// assert_eq!(hold::who(&name)?.len(), 2); // the holder, and this reader
///
/// hold::drop_set(&name)?; // the holder had no other name, so it ends
/// holder.join().unwrap()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SetHolder {
    limits: Limits,
    folder: Folder,
    names: Vec<HeldName>,
    clients: Vec<Client>,
    /// The number of the next client.
    next_client: u64,
    /// No connection is accepted before.
    paused: Option<Instant>,
    /// A descriptor that is closed when there is none for a connection.
    spare: Option<File>,
}

impl SetHolder {
    /// Holds nothing. Makes the folder for sockets if it does not exist.
    ///
    /// # Errors
    ///
    /// `is_io` if the folder cannot be made, belongs to another user, or lets others in.
    pub fn new(limits: Limits) -> Result<Self> {
        let folder = Folder::create()?;
        let (names, clients, spare) = (Vec::new(), Vec::new(), spare());
        Ok(Self { limits, folder, names, clients, next_client: 0, paused: None, spare })
    }

    /// Listens under a name. If its former holder was killed, the newest version that a process
    /// still has is found and kept on. Then the next version has a higher number than any that a
    /// holder of this user gave, under any name, so that no number is given twice.
    ///
    /// # Errors
    ///
    /// `is_conflict` if a living process holds the name ([`SetHolder::take_over`] takes it over);
    /// `is_malformed` for a name with a version; `is_refused` beyond the limit of names; `is_io`,
    /// also if something other than a socket has its path.
    pub fn claim(&mut self, name: &Label) -> Result<()> {
        name.check_is_name("claiming")?;
        self.check_room(name)?;
        let path = self.folder.socket(name);
        let lock = self.folder.lock()?;
        let taken = || {
            let text = format!("{} is held by another process; drop it or take it over", name.name());
            Error::new(Kind::Conflict, text)
        };
        folder::check_is_socket(&path)?;
        let (mut was_killed, reserved) = (false, numbers::reserved(&lock)?);
        if folder::inode(&path) != 0 {
            match Socket::connect(&path, PATIENCE) {
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                    lock.remove(&path, folder::inode(&path))?;
                    was_killed = true;
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                _ => return Err(taken()),
            }
        }
        let listener =
            Socket::listen(&path).map_err(|error| folder::failed(&path, "could not be made", error))?;
        let inode = folder::inode(&path);
        drop(lock);
        let mut held = HeldName::new(name.at(0), listener, path, inode);
        let FoundSets { newest, has_memory } = recover::find(name);
        if was_killed || has_memory {
            // A reply that its reader has not taken may have a higher number than what is found.
            held.continue_at(reserved.saturating_add(1));
        }
        if let Some(set) = newest {
            // No other version is there, with which this one could conflict.
            held.insert(set, 0)?;
        }
        self.names.push(held);
        Ok(())
    }

    /// Takes a name over from the living process that holds it: all versions, and the connections
    /// of its readers and its writer, none of whom notices.
    ///
    /// # Errors
    ///
    /// `is_io` if no process holds the name, or if it does not answer; then it keeps the name.
    /// `is_malformed` for a name with a version.
    pub fn take_over(&mut self, name: &Label) -> Result<()> {
        name.check_is_name("taking over")?;
        self.check_room(name)?;
        handover::take_over(self, name)
    }

    fn check_room(&self, name: &Label) -> Result<()> {
        if self.names.iter().any(|held| held.name.name() == name.name()) {
            let text = format!("this process holds {} already", name.name());
            return Err(Error::new(Kind::Conflict, text));
        }
        if self.names.len() >= self.limits.names {
            let text = format!("a holder keeps at most {} names; start another one", self.limits.names);
            return Err(Error::new(Kind::Refused, text));
        }
        Ok(())
    }

    /// The label of the next version of a name, which is then taken.
    ///
    /// # Errors
    ///
    /// `is_bounds` if this holder does not hold the name; `is_io` if the number cannot be
    /// reserved.
    pub fn next(&mut self, name: &Label) -> Result<Label> {
        let held = held(&mut self.names, name)?;
        Ok(name.at(held.take_number(&self.folder)?))
    }

    /// Keeps a set under its label, as the newest version of its name. From then on it is found
    /// after a kill.
    ///
    /// # Errors
    ///
    /// `is_bounds` if this holder does not hold the name; `is_conflict` if the version exists;
    /// `is_refused` beyond a limit.
    pub fn commit(&mut self, set: SealedSet) -> Result<()> {
        let label = set.label().clone();
        let publisher = u64::from(std::process::id());
        self.check_limits(&label, set.nbytes(), publisher)?;
        let held = held(&mut self.names, &label)?;
        held.reserve(&self.folder, label.number())?;
        held.insert(set.0, publisher)?;
        self.sweep_versions();
        Ok(())
    }

    /// Whether it holds no name any more: all were dropped or taken over.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The names, and their versions.
    #[doc(hidden)]
    pub fn labels(&self) -> Vec<Label> {
        let numbers =
            |held: &HeldName| held.versions.iter().map(|version| held.name.at(version.number)).collect();
        self.names.iter().flat_map(|held| -> Vec<Label> { numbers(held) }).collect()
    }

    fn held(&mut self, name: &Label) -> Result<&mut HeldName> {
        held(&mut self.names, name)
    }

    /// Fails if another version of this size, by this process, would exceed a limit.
    fn check_limits(&self, label: &Label, nbytes: u64, publisher: u64) -> Result<()> {
        let used: u64 = self.names.iter().map(HeldName::nbytes).fold(0, u64::saturating_add);
        if used.saturating_add(nbytes) > self.limits.nbytes {
            let text = format!(
                "{label} has {nbytes} bytes, the holder keeps {used}, and its limit is {}; drop other versions",
                self.limits.nbytes
            );
            return Err(Error::new(Kind::Refused, text));
        }
        let of_process = self
            .names
            .iter()
            .flat_map(|held| &held.versions)
            .filter(|version| version.publisher == publisher)
            .fold(0, |sum: u64, version| sum.saturating_add(version.nbytes));
        if of_process.saturating_add(nbytes) > self.limits.nbytes_of_process {
            let text = format!(
                "{label} has {nbytes} bytes, the holder keeps {of_process} that process {publisher} published, and the \
                limit for one process is {}; drop other versions",
                self.limits.nbytes_of_process
            );
            return Err(Error::new(Kind::Refused, text));
        }
        // Versions without readers make room.
        let needed = self.names.iter().find(|held| held.name.name() == label.name()).map_or(0, |held| {
            held.versions.iter().filter(|version| self.has_readers(held, version.number)).count()
        });
        if needed >= self.limits.versions {
            let text = format!(
                "{} versions of {} have readers, and the limit is {}; end some readers",
                needed,
                label.name(),
                self.limits.versions
            );
            return Err(Error::new(Kind::Refused, text));
        }
        Ok(())
    }

    /// Serves clients until `stop` can be read or is closed at its other end, or until no name is
    /// left.
    ///
    /// # Errors
    ///
    /// `is_io` if the system cannot wait for events. No client causes an error.
    pub fn run(&mut self, stop: Option<BorrowedFd<'_>>) -> Result<()> {
        while !(self.names.is_empty() && self.clients.is_empty()) {
            if self.step(stop)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Waits for events once, and serves them. Returns whether `stop` was one.
    fn step(&mut self, stop: Option<BorrowedFd<'_>>) -> Result<bool> {
        let now = Instant::now();
        self.paused = self.paused.filter(|&until| until > now);
        let reading = |fd: i32, reads: bool| Interest { fd, reads, ..Interest::default() };
        // A negative descriptor is skipped by the system.
        let mut interests = vec![reading(stop.map_or(-1, |stop| stop.as_raw_fd()), true)];
        let accepts = self.paused.is_none();
        interests.extend(self.names.iter().map(|held| held.interest(accepts)));
        interests.extend(self.clients.iter().map(|client| client.interest(self.is_frozen(client.number))));
        let deadlines = self.clients.iter().filter_map(|client| client.deadline).chain(self.paused);
        let most = deadlines.min().map(|deadline| deadline.saturating_duration_since(now));
        socket::wait(&mut interests, most).map_err(|error| {
            let text = format!("the holder cannot wait for its clients: {}", system_text(&error));
            Error::caused(Kind::Io, text, error)
        })?;

        let (listening, connected) = interests[1..].split_at(self.names.len());
        if interests[0].is_readable {
            return Ok(true);
        }
        let numbers: Vec<u64> = self.clients.iter().map(|client| client.number).collect();
        let names: Vec<Label> = self.names.iter().map(|held| held.name.clone()).collect();
        for (number, interest) in numbers.into_iter().zip(connected) {
            if interest.is_writable {
                self.flush(number);
            }
            if interest.is_readable && !self.is_frozen(number) {
                serve::serve(self, number);
            }
        }
        for (name, interest) in names.iter().zip(listening) {
            if interest.is_readable && self.held(name).is_ok_and(|held| held.successor.is_none()) {
                self.accept(name);
            }
        }
        self.sweep(Instant::now());
        Ok(false)
    }

    /// Accepts connections to a name.
    fn accept(&mut self, name: &Label) {
        for _ in 0..ACCEPTED_AT_ONCE {
            let Ok(held) = self.held(name) else { return };
            match held.listener.accept() {
                Ok(Some(socket)) => self.admit(name, socket),
                Ok(None) => return,
                Err(_) => return self.refuse_without_descriptor(name),
            }
        }
    }

    /// Refuses a connection when no more descriptors can be opened, in place of the spare one.
    fn refuse_without_descriptor(&mut self, name: &Label) {
        if self.spare.take().is_some()
            && let Ok(Some(socket)) = self.held(name).map_or(Ok(None), |held| held.listener.accept())
        {
            let text = format!(
                "the holder of {name} has the most descriptors that it may have; end some readers, or start a \
                 holder with a higher limit (ulimit -n)"
            );
            // The connection is closed anyway.
            let _ = socket.send(&Reply::failed(&Error::new(Kind::Refused, text)).to_bytes(), &[]);
        }
        self.spare = spare();
        // Another one may be free later.
        self.paused = Some(Instant::now() + PAUSE);
    }

    /// Makes a connection a client, or refuses it.
    fn admit(&mut self, name: &Label, socket: Socket) {
        let Ok(peer) = socket.peer() else { return };
        let of_process = self.clients.iter().filter(|client| client.peer.pid == peer.pid).count();
        let refusal = match () {
            () if peer.user != user() => {
                Some(format!("the holder of {name} serves user {} only, not {}", user(), peer.user))
            }
            () if self.clients.len() >= self.limits.clients => Some(format!(
                "the holder of {name} has {} clients, its limit; try again later",
                self.limits.clients
            )),
            () if of_process >= self.limits.clients_of_process => Some(format!(
                "process {} has {of_process} connections to the holder of {name}, the limit; close some",
                peer.pid
            )),
            () => None,
        };
        if let Some(text) = refusal {
            let reply = Reply::failed(&Error::new(Kind::Refused, text));
            // The connection is closed anyway.
            let _ = socket.send(&reply.to_bytes(), &[]);
            return;
        }
        self.next_client += 1;
        self.clients.push(Client::new(self.next_client, name.clone(), socket, peer));
    }

    fn client(&mut self, number: u64) -> Option<&mut Client> {
        self.clients.iter_mut().find(|client| client.number == number)
    }

    /// Whether a client waits, because its name is being handed over: the request for that may have
    /// come in the same step.
    fn is_frozen(&self, number: u64) -> bool {
        let client = self.clients.iter().find(|client| client.number == number);
        client.is_some_and(|client| self.names.iter().any(|held| held.is_frozen_for(client)))
    }

    fn flush(&mut self, number: u64) {
        if let Some(client) = self.client(number) {
            client.flush();
        }
    }

    fn has_readers(&self, held: &HeldName, version: u64) -> bool {
        self.clients.iter().any(|client| client.reads(&held.name, version))
    }

    /// Removes clients that are gone, and what only they needed.
    fn sweep(&mut self, now: Instant) {
        self.clients.retain(|client| !client.has_ended(now));
        for held in &mut self.names {
            let lives = |number: u64| self.clients.iter().any(|client| client.number == number);
            held.writer = held.writer.filter(|&(number, _)| lives(number));
            held.successor = held.successor.filter(|&number| lives(number));
        }
        self.sweep_versions();
    }

    /// Drops old versions without readers.
    fn sweep_versions(&mut self) {
        let clients = &self.clients;
        for held in &mut self.names {
            let newest = held.newest().map_or(0, |newest| newest.number);
            let name = held.name.clone();
            let is_needed =
                |number: u64| number == newest || clients.iter().any(|client| client.reads(&name, number));
            if held.successor.is_none() {
                held.versions.retain(|version| is_needed(version.number));
            }
        }
    }
}

fn held<'a>(names: &'a mut [HeldName], name: &Label) -> Result<&'a mut HeldName> {
    names.iter_mut().find(|held| held.name.name() == name.name()).ok_or_else(|| {
        Error::new(Kind::Bounds, format!("this process does not hold {}; claim the name first", name.name()))
    })
}

fn spare() -> Option<File> {
    File::open("/dev/null").ok()
}

impl Drop for SetHolder {
    fn drop(&mut self) {
        for held in &self.names {
            held.remove_socket(&self.folder);
        }
    }
}

impl fmt::Debug for SetHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SetHolder({} names, {} clients)", self.names.len(), self.clients.len())
    }
}
