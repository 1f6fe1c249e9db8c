//! Several holders of the same memory: one writes, the others see it, and a conflicting lease is
//! refused.

use crate::failure::{Failure, Result};
use crossdock::DArray;
use crossdock::element::Value;
use crossdock::layout::{AxisSlice, Order};
use crossdock::memory::copied_bytes;
use crossdock::view::{MemoryView, Request};
use serde::Serialize;

/// The events, for display.
#[derive(Default, Serialize)]
pub(crate) struct Account {
    /// The bytes of the sample, which were copied to shared memory on purpose.
    sample_nbytes: u64,
    /// Where they are: systems without shared memory have other memory, for holders in one process.
    #[serde(skip)]
    memory: &'static str,
    before: String,
    written: String,
    seen_by_share: String,
    seen_by_pin: String,
    read_refused: String,
    write_refused: String,
}

/// Shares a corner of the array.
pub(crate) fn account(array: &DArray) -> Result<Account> {
    let mut account = Account::default();
    account.tell(array)?;
    Ok(account)
}

impl Account {
    /// Copies a sample of the array to shared memory, and takes several leases of it.
    fn tell(&mut self, array: &DArray) -> Result<()> {
        let first_few = vec![AxisSlice::Range { start: None, stop: Some(4), step: 1 }; array.rank()];
        let corner = array.slice_numpy(first_few)?;
        let copied = copied_bytes();
        let sample = match corner.to_shared(Order::RowMajor) {
            Err(error) if error.is_unsupported() => {
                self.memory = "memory";
                corner.to_order(Order::RowMajor)?
            }
            shared => {
                self.memory = "shared memory";
                shared?
            }
        };
        self.sample_nbytes = copied_bytes() - copied;
        if sample.nbytes() == 0 {
            return Ok(());
        }
        let first = vec![0; sample.rank()];
        let last: Vec<usize> = sample.shape().iter().map(|len| len - 1).collect();

        let mut writer = crossdock::view(&sample, Request::share())?;
        let sharer = crossdock::view(&sample, Request::share())?;
        let observer = crossdock::view(&sample, Request::pin())?;
        let value = other_value(&observer, &first, &last)?;
        self.before = observer.get(&first)?.to_string();
        writer.set(&first, &value)?;
        self.written = writer.get(&first)?.to_string();
        self.seen_by_share = sharer.get(&first)?.to_string();
        self.seen_by_pin = observer.get(&first)?.to_string();
        if [&self.seen_by_share, &self.seen_by_pin] != [&self.written; 2] {
            return Err(Failure::new(format_args!(
                "{} was written, but the Share and Pin holders see {} and {}",
                self.written, self.seen_by_share, self.seen_by_pin
            )));
        }
        self.read_refused = refusal(&sample, Request::read())?;
        self.write_refused = refusal(&sample, Request::write())?;
        Ok(())
    }

    /// The events in sentences.
    pub(crate) fn lines(&self) -> Vec<String> {
        if self.sample_nbytes == 0 {
            return vec!["The array has 0 bytes, so there is nothing to share.".to_owned()];
        }
        vec![
            format!(
                "Shared: {} bytes from a corner of the array, copied into {} and lent to three holders.",
                self.sample_nbytes, self.memory
            ),
            format!(
                "  one Share holder writes {} over {}; the other one sees {}, the Pin holder {}",
                self.written, self.before, self.seen_by_share, self.seen_by_pin
            ),
            format!("  a Read request meanwhile: {}", self.read_refused),
            format!("  a Write request meanwhile: {}", self.write_refused),
        ]
    }
}

/// A value that is stored differently from the one at `first`; that value itself if none is found.
fn other_value(view: &MemoryView, first: &[usize], last: &[usize]) -> Result<Value> {
    let current = view.get(first)?;
    let mut bytes = vec![0; view.dtype().itemsize()];
    let mut stored = |value: &Value| {
        value.write(view.dtype(), &mut bytes)?;
        Value::read(view.dtype(), &bytes)
    };
    let candidates = [Value::from(1u8), Value::from(0u8), view.get(last)?];
    let differs = |value: &Value| stored(value).is_ok_and(|stored| stored != current);
    Ok(candidates.into_iter().find(differs).unwrap_or_else(|| current.clone()))
}

fn refusal(sample: &DArray, request: Request) -> Result<String> {
    match crossdock::view(sample, request) {
        Ok(view) => {
            Err(Failure::new(format_args!("this was granted beside holders of share leases: {view:?}")))
        }
        Err(refusal) => Ok(refusal.reason().fact().to_string()),
    }
}
