//! Two programs, one array: the maker lends it, the taker writes it, reads it, and gets it sealed.
//! No element is copied.
//!
//! ```sh
//! cargo run --example shared_memory                  # both
//! cargo run --example shared_memory -- make NAME     # or each at a prompt of its own
//! cargo run --example shared_memory -- take NAME
//! ```
//!
//! When either is killed, at any moment, the other one ends with an error, and the system frees the
//! memory: it has no name that could be left over. Nor has the socket, which is one of Linux's
//! abstract names. (Every user of the machine may connect to those: programs that are wary of their
//! neighbours use a socket in a folder of their own, or inherit one.)

use std::error::Error;
use std::ffi::CString;
use std::io::{ErrorKind, Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crossdock::buffer::Buffer;
use crossdock::exchange::protocol::shm;
use crossdock::memory::copied_bytes;
use crossdock::view::Request;
use crossdock::{Array, DArray};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const SHAPE: [usize; 2] = [512, 1024];

fn main() -> Outcome {
    let patience = Duration::from_secs(10);
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {
            let name = format!("crossdock-example-{}", std::process::id());
            let mut taker = Command::new(std::env::current_exe()?).args(["take", &name]).spawn()?;
            let made = make(&name, 1, patience);
            let took = taker.wait()?;
            made?;
            if took.success() { Ok(()) } else { Err(format!("the taker failed: {took}").into()) }
        }
        ["make", name] => make(name, 1, patience),
        ["take", name] => take(name, 1, patience),
        _ => Err("usage: shared_memory [make NAME | take NAME]".into()),
    }
}

/// Makes arrays and lends them to the taker.
pub(crate) fn make(name: &str, rounds: usize, patience: Duration) -> Outcome {
    let socket = accept(name, patience)?;
    for _ in 0..rounds {
        // The name is for people who look into /proc.
        let memory = Buffer::shared_named(8 * SHAPE[0] * SHAPE[1], &CString::new(name)?)?;
        let squares = DArray::from(Array::<f64, 2>::from_buffer(memory, SHAPE)?);

        let lent = shm::export(&squares, &Request::share())?;
        shm::send(&socket, &lent)?;
        wait(&socket)?;
        println!("maker: the taker wrote {} at [3, 4]", squares.get(&[3, 4])?);

        // Reading is all that the taker gets now, and `/proc` does not get it more.
        drop(lent);
        squares.buffer()?.0.deny_new_writers()?;
        let lent = shm::export(&squares.at("::2, ::-1")?, &Request::pin())?;
        shm::send(&socket, &lent)?;
        squares.set(&[0, 0], &(-1.0).into())?;
        tell(&socket)?;
        wait(&socket)?;

        // The taker has closed its writable map, so only this process could write. Sealing ends
        // that, too.
        drop(lent);
        let squares = squares.into_sealed()?;
        shm::send(&socket, &shm::export(&squares, &Request::read())?)?;
        wait(&socket)?;
        println!("maker: lent three times, {} bytes copied", copied_bytes());
    }
    Ok(())
}

/// Takes what the maker lends.
pub(crate) fn take(name: &str, rounds: usize, patience: Duration) -> Outcome {
    let socket = connect(name, patience)?;
    for _ in 0..rounds {
        let writable = next(&socket)?;
        writable.set(&[3, 4], &(3.0 * 4.0).into())?;
        println!("taker: mapped {:?} for writing at {:p}", writable.shape(), writable.as_ptr());
        drop(writable);
        tell(&socket)?;

        let readonly = next(&socket)?;
        wait(&socket)?;
        let [rows, columns] = [readonly.shape()[0], readonly.shape()[1]];
        let seen = readonly.get(&[0, columns - 1])?;
        println!("taker: every second row, backwards, {rows} x {columns}: the maker wrote {seen} meanwhile");
        println!("taker: writing to it: {}", refused(readonly.set(&[0, 0], &1.0.into()))?);
        drop(readonly);
        tell(&socket)?;

        let sealed: Array<f64, 2> = next(&socket)?.try_into()?;
        let sum: f64 = sealed.read()?.iter().sum();
        println!("taker: sealed, hence a &[f64]: the sum is {sum}; {} bytes copied", copied_bytes());
        tell(&socket)?;
    }
    Ok(())
}

fn next(socket: &UnixStream) -> Outcome<DArray> {
    shm::receive(socket)?.ok_or_else(|| "the maker is gone".into())
}

fn refused(written: crossdock::Result<()>) -> Outcome<crossdock::Error> {
    written.err().ok_or_else(|| "a read-only array was written".into())
}

// ===== the socket: whose turn it is, in one byte

fn tell(mut socket: &UnixStream) -> Outcome {
    Ok(socket.write_all(b".")?)
}

fn wait(mut socket: &UnixStream) -> Outcome {
    Ok(socket.read_exact(&mut [0])?)
}

fn accept(name: &str, patience: Duration) -> Outcome<UnixStream> {
    let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
    listener.set_nonblocking(true)?;
    let (socket, _) = until(patience, || listener.accept())?;
    socket.set_nonblocking(false)?;
    patiently(socket, patience)
}

fn connect(name: &str, patience: Duration) -> Outcome<UnixStream> {
    let address = SocketAddr::from_abstract_name(name)?;
    patiently(until(patience, || UnixStream::connect_addr(&address))?, patience)
}

/// Tries until the other program is there.
fn until<T>(patience: Duration, mut attempt: impl FnMut() -> std::io::Result<T>) -> std::io::Result<T> {
    let start = Instant::now();
    loop {
        match attempt() {
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::ConnectionRefused)
                    && start.elapsed() < patience =>
            {
                sleep(Duration::from_millis(1));
            }
            outcome => return outcome,
        }
    }
}

/// A program that hangs is not waited for forever.
fn patiently(socket: UnixStream, patience: Duration) -> Outcome<UnixStream> {
    socket.set_read_timeout(Some(patience))?;
    socket.set_write_timeout(Some(patience))?;
    Ok(socket)
}
