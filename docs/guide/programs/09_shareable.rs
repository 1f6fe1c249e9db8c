// A frame that is made first and sent later, without a copy.

use std::time::Duration;

use crossdock::exchange::protocol::shm;
use crossdock::pool::{AllocOptions, Pool};
use crossdock::view::Request;
use crossdock::{Array, DArray};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    // Keeps up to 1 GiB of unused blocks for half a second.
    let pool = Pool::shareable(1 << 30, Duration::from_millis(500))?;
    let mut frame = Array::<u8, 2>::zeros(([480, 640], &pool))?;
    frame.as_view_mut()?.fill(200); // like any other array

    let frame = DArray::from(frame);
    println!("made: {:?}", frame.birth());
    let exported = shm::export(&frame, &Request::share())?; // a descriptor, for the other process
    println!("exported: {:?}, {} bytes copied", frame.birth(), exported.copied_nbytes());
    if let Err(refusal) = frame.export(&Request::read()) {
        println!("refused: {refusal}");
    }

    // If the system has no memory for this, the call fails, rather than a later write.
    let reserved = AllocOptions::new().reserve(true).zeroed(&pool, 1 << 20)?;
    println!("reserved: {} bytes", reserved.nbytes());
    Ok(())
}
