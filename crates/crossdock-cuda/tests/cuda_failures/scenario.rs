//! One round through the functions of the crate, which ends at the first error.

use std::collections::BTreeSet;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossdock::buffer::Buffer;
use crossdock::device::{self, Device, Event, MemoryManager};
use crossdock::element::DType;
use crossdock::layout::Order;
use crossdock::memory::{Birth, DeviceKind, Place};
use crossdock::{Casting, DArray, Error, Result, s};
use crossdock_cuda::{self as cuda, IpcHandle};
use crossdock_mock_cuda::{Live, Mock};

const NBYTES: usize = 5000;

pub(crate) fn place(kind: DeviceKind, ordinal: i32) -> Place {
    Place::new(kind, ordinal)
}

/// Two devices, and all memories of the first.
pub(crate) struct Devices {
    pub(crate) first: Arc<dyn Device>,
    pub(crate) device: Arc<dyn MemoryManager>,
    pub(crate) pinned: Arc<dyn MemoryManager>,
    pub(crate) managed: Arc<dyn MemoryManager>,
    pub(crate) exportable: Arc<dyn MemoryManager>,
    pub(crate) shareable: Arc<dyn MemoryManager>,
    pub(crate) other: Arc<dyn MemoryManager>,
    pub(crate) host: Arc<dyn MemoryManager>,
}

impl Devices {
    pub(crate) fn open() -> Self {
        let at = |kind, ordinal| device::memory(place(kind, ordinal)).unwrap();
        Self {
            first: device::get(place(DeviceKind::CUDA, 0)).unwrap(),
            device: at(DeviceKind::CUDA, 0),
            pinned: at(DeviceKind::CUDA_HOST, 0),
            managed: at(DeviceKind::CUDA_MANAGED, 0),
            exportable: cuda::exportable_memory(0).unwrap(),
            shareable: cuda::shareable_memory(0).unwrap(),
            other: at(DeviceKind::CUDA, 1),
            host: device::memory(Place::CPU).unwrap(),
        }
    }

    /// One round, which checks the bytes that arrive.
    pub(crate) fn round(&self) -> Result<()> {
        let content: Vec<u8> = (0..NBYTES).map(|index| (index % 251) as u8).collect();
        let source = Buffer::copy_from_slice(&content)?;
        cuda::devices()?;
        self.copies(&source, &content)?;
        self.streams(&source, &content)?;
        self.mappings(&source, &content)?;
        self.processes(&content)?;
        self.descriptors(&content)?;
        self.strided()?;
        cuda::trim(0, 0)?;
        cuda::trim(1, 0)
    }

    /// Synchronous copies: to each kind of memory, to the other device, and back.
    fn copies(&self, source: &Buffer, content: &[u8]) -> Result<()> {
        for memory in [&self.device, &self.pinned, &self.managed, &self.exportable, &self.shareable] {
            let there = source.copy_to(memory)?;
            let further = there.copy_to(&self.other)?;
            let back = further.copy_to(&self.device)?.copy_to(&self.host)?;
            assert!(back.read()?[..] == *content);
        }
        drop(Buffer::on(&self.device, 0)?);
        assert!(cuda::free_nbytes(0)? > 0);
        Ok(())
    }

    /// Copies in streams: the library's, and the driver's default stream.
    fn streams(&self, source: &Buffer, content: &[u8]) -> Result<()> {
        let (stream, second) = (self.first.stream()?, self.first.stream()?);
        let (stream, second) = (stream.expect("CUDA has streams"), second.expect("CUDA has streams"));
        let there = source.copy_to_in(&self.device, &*stream)?.buffer;
        let further = there.copy_to_in(&self.other, &*stream)?.buffer;
        // While the event is pending, later work must wait for it.
        let held_back = Mock::get().hold_back();
        let event: Arc<dyn Event> = stream.record()?;
        second.wait(&event)?;
        event.wait()?;
        drop(held_back);
        let back = Buffer::zeroed(NBYTES)?;
        further.copy_into_in(&back, &*second)?;
        assert!(back.read()?[..] == *content, "who reads waits");
        // SAFETY: handle 1 is the legacy default stream, which exists as long as the driver.
        let default = unsafe { self.first.wrap_stream(std::ptr::without_provenance_mut(1)) }?;
        let default = default.expect("CUDA has streams");
        let pinned = there.copy_to_in(&self.pinned, &*default)?.buffer;
        // SAFETY: `event` belongs to this driver and lives until the end of the function, longer
        // than `wrapped`.
        let wrapped = unsafe { self.first.wrap_event(event.raw()) }?.expect("CUDA has events");
        default.wait(&wrapped)?;
        while wrapped.poll().transpose()?.is_none() {
            std::thread::yield_now();
        }
        default.synchronize()?;
        assert!(pinned.read()?[..] == *content);
        // Settles each buffer, so that failures of its work are returned.
        [source, &there, &further, &back, &pinned].into_iter().try_for_each(Buffer::settle)
    }

    /// The same bytes at another place, and imported memory.
    fn mappings(&self, source: &Buffer, content: &[u8]) -> Result<()> {
        let pinned = cuda::pin(source, 0)?;
        let there = pinned.map_to(&self.device)?.expect("pinned memory is mapped");
        assert!(there.copy_to(&self.host)?.read()?[..] == *content);
        let managed = source.copy_to(&self.managed)?;
        let mapped = managed.map_to(&self.host)?.expect("managed memory is mapped");
        assert!(mapped.pin()?.to_vec() == *content);
        let device = source.copy_to(&self.device)?;
        let address = NonNull::new(device.as_ptr().cast_mut()).expect("memory has an address");
        assert_eq!(cuda::place_of(address.as_ptr())?, self.device.place());
        let kept = device.try_clone()?;
        // SAFETY: the release drops `kept`, which keeps the device memory until then; both count as
        // aliased.
        let imported = unsafe { cuda::import(address, NBYTES, Birth::Aliased, move || drop(kept)) }?;
        assert!(imported.copy_to(&self.host)?.read()?[..] == *content);
        Ok(())
    }

    /// Kernels, synchronously and in a stream.
    fn strided(&self) -> Result<()> {
        let there = DArray::full(DType::I32, &[30, 20], 3, self.device.place())?;
        there.slice(s![..;2, 1..])?.fill(&100.into())?;
        let bytes = there.transpose()?.cast(&DType::I8, Order::RowMajor, Casting::Checked)?;
        let refused = DArray::full(DType::I32, &[5], 1000, self.device.place())?;
        match refused.cast(&DType::I8, Order::RowMajor, Casting::Checked) {
            Err(error) if error.is_device() => return Err(error),
            outcome => assert!(outcome.unwrap_err().is_value()),
        }
        let stream = self.first.stream()?.expect("CUDA has streams");
        let part = bytes.slice(s![.., 1..;3])?.copy_to_in(&self.device, &*stream)?.array;
        let back = part.copy_to(&self.host)?;
        assert_eq!(
            (back.shape(), back.get(&[0, 1])?.as_i64(), back.get(&[1, 1])?.as_i64()),
            (&[20, 10][..], Some(3), Some(100))
        );
        // Rows of 128 KiB are copied by the driver.
        const END: isize = (1 << 17) + 10;
        let wide = DArray::full(DType::U8, &[2, 3, END as usize + 6], 7, self.device.place())?;
        let rows = wide.slice(s![0, .., 10..END])?.copy_to_in(&self.device, &*stream)?.array;
        let slices = wide.slice(s![.., 1.., 10..END])?.to_order(Order::RowMajor)?;
        assert_eq!(rows.copy_to(&self.host)?.get(&[2, (1 << 17) - 1])?.as_i64(), Some(7));
        assert_eq!(slices.copy_to(&self.host)?.get(&[1, 1, (1 << 17) - 1])?.as_i64(), Some(7));
        rows.buffer()?.0.settle()?;
        [&bytes, &part].into_iter().try_for_each(|array| array.buffer()?.0.settle())
    }

    /// Memory exported to a process, opened in the same one, which the mock driver permits.
    fn processes(&self, content: &[u8]) -> Result<()> {
        let source = Buffer::copy_from_slice(content)?.copy_to(&self.exportable)?;
        let export = cuda::export_ipc(&source.slice(10..100)?)?;
        let handle = IpcHandle::from_bytes(&export.handle().to_bytes())?;
        // SAFETY: `export` keeps the memory until the end of the function, after both buffers are
        // dropped.
        let open = || unsafe { cuda::open_ipc(&handle, 0) };
        let (opened, again) = (open()?, open()?);
        assert!(opened.copy_to(&self.host)?.read()?[..] == content[10..100]);
        drop((opened, again));
        Ok(())
    }

    /// Memory exported as a descriptor, and imported by the same process.
    fn descriptors(&self, content: &[u8]) -> Result<()> {
        let source = Buffer::copy_from_slice(content)?.copy_to(&self.shareable)?;
        let export = cuda::export_descriptor(&source.slice(10..100)?)?;
        drop(source);
        let imported = cuda::import_descriptor(export.fd(), &export.range())?;
        drop(export);
        assert!(imported.copy_to(&self.host)?.read()?[..] == content[10..100]);
        Ok(())
    }
}

/// The errors queued since the last call.
pub(crate) fn queued() -> Vec<Error> {
    device::take_release_errors().errors.into_iter().map(|(_, error)| error).collect()
}

/// What is live at rest, once in-flight work has released its memory: waits until that is as
/// expected. Events and streams are kept for reuse and not compared.
#[track_caller]
pub(crate) fn at_rest(mock: &Mock, at: &str, is_expected: impl Fn(&Live) -> bool) -> Live {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        mock.settle();
        for ordinal in opened() {
            cuda::trim(ordinal, 0).unwrap();
        }
        let live = Live { events: 0, streams: 0, ..mock.live() };
        if is_expected(&live) {
            return live;
        }
        assert!(Instant::now() < deadline, "{live:?} are left after {at}");
        std::thread::yield_now();
    }
}

/// The ordinals of the devices in use.
fn opened() -> BTreeSet<i32> {
    let places = device::opened().into_iter().map(|device| device.place());
    places.filter(|place| place.kind() == DeviceKind::CUDA).map(Place::ordinal).collect()
}
