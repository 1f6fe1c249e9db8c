// Memory with a limit, bytes that grow and are lent, and the list of what is alive.

use crossdock::buffer::Buffer;
use crossdock::pool::Pool;
use crossdock::view::Request;
use crossdock::{Array, Result, ledger};

fn main() -> Result<()> {
    ledger::switch_on(); // lists what is allocated and lent from now on

    let pool = Pool::default().capped("thumbnails", 1 << 20)?; // never more than 1 MiB
    let thumbnails = Array::<u8, 3>::zeros(([16, 64, 64], &pool))?;
    println!("in use: {} bytes", pool.statistics().live_nbytes);
    if let Err(error) = Array::<u8, 2>::zeros(([1024, 1024], &pool)) {
        println!("refused: {error}");
    }

    // Bytes grow while they have one owner. `freeze` makes them a buffer, without a copy.
    let mut text = pool.mutable(16)?;
    text.extend_from_slice(b"a line")?;
    text.extend_from_slice(b" that outgrows its first block of 64 bytes, and moves to a new one")?;
    let text: Buffer = text.freeze();
    let word = text.slice(7..11)?;
    println!("bytes 7 to 10: {:?}", std::str::from_utf8(&word.read()?));
    drop((text, word));

    // Why is memory still alive?
    let lent = crossdock::view(&thumbnails, Request::read())?;
    drop(thumbnails);
    for entry in ledger::live() {
        println!("alive: {} bytes of {:?}, {} handles", entry.nbytes, entry.pool, entry.handles);
        for holder in entry.holders {
            println!("  held by a {:?} lease, by {}", holder.kind, holder.protocols);
        }
    }
    drop(lent);
    let after = pool.statistics();
    println!("in use: {} bytes; at the peak {}", after.live_nbytes, after.peak_nbytes);
    Ok(())
}
