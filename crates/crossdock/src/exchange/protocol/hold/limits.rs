//! How much a holder keeps.

/// The limits of a holder. A request beyond one is refused with its number, and harms no one.
///
/// ```
/// use crossdock::exchange::protocol::hold::{SetHolder, Limits};
///
/// let limits = Limits::new().clients(64).nbytes(32 << 30);
/// let holder = SetHolder::new(limits)?;
/// # Ok::<(), crossdock::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Limits {
    pub(super) clients: usize,
    pub(super) clients_of_process: usize,
    pub(super) nbytes: u64,
    pub(super) nbytes_of_process: u64,
    pub(super) names: usize,
    pub(super) versions: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            clients: 512,
            clients_of_process: 64,
            nbytes: u64::MAX,
            nbytes_of_process: u64::MAX,
            names: 64,
            versions: 16,
        }
    }
}

impl Limits {
    /// 512 clients, of which 64 may belong to one process; 64 names with 16 versions each, of any
    /// size.
    pub fn new() -> Self {
        Self::default()
    }

    /// The most connections at a time.
    pub fn clients(mut self, most: usize) -> Self {
        self.clients = most;
        self
    }

    /// The most connections of one process, each of which is one set that it reads.
    pub fn clients_of_process(mut self, most: usize) -> Self {
        self.clients_of_process = most;
        self
    }

    /// The most bytes of all sets together.
    pub fn nbytes(mut self, most: u64) -> Self {
        self.nbytes = most;
        self
    }

    /// The most bytes of all sets that one process published and that exist.
    pub fn nbytes_of_process(mut self, most: u64) -> Self {
        self.nbytes_of_process = most;
        self
    }

    /// The most versions of a name that exist at a time: those with readers, and the newest.
    pub fn versions(mut self, most: usize) -> Self {
        self.versions = most;
        self
    }
}
