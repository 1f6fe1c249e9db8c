//! Checks that every device of Crossdock must pass.
//!
//! A crate with a device describes it as a [`Subject`], and [`conforms!`](crate::conforms) makes a
//! test of each check:
//!
//! ```
//! use crossdock::device::{Device as _, fenced::FencedDevice};
//! use crossdock_conformance::{Subject, conforms};
//!
//! fn subject() -> Subject {
//!     Subject::new(FencedDevice::new(0).memory())
//! }
//!
//! conforms!(as_every_device_does, subject()); // at the top of a file of tests
//! # fn main() {}
//! ```
//!
//! The checks of strided work compare with the CPU's results. Their device must be registered,
//! since they create arrays by its place.

#[expect(missing_docs, reason = "a check is named after what it checks")]
pub mod copies;
#[expect(missing_docs, reason = "a check is named after what it checks")]
pub mod memory;
#[expect(missing_docs, reason = "a check is named after what it checks")]
pub mod order;
#[expect(missing_docs, reason = "a check is named after what it checks")]
pub mod streams;
#[expect(missing_docs, reason = "a check is named after what it checks")]
pub mod strided;

use std::any::Any;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crossdock::buffer::Buffer;
use crossdock::device::{self, Device, MemoryManager, Stream};
use crossdock::memory::Place;

/// A device and its expected properties. Missing features are stated explicitly, so that no check
/// is skipped silently.
///
/// A check that needs a field passes where the field is `None`. No check covers these:
///
/// - forks, and the release of memory in a forked child;
/// - work that fails in the driver itself: the checks fail only the events that a stream waits for,
///   and releases;
/// - several devices in one stream, [`Device::wrap_stream`] and its siblings, and
///   [`Driver::place_of`](crossdock::device::Driver::place_of);
/// - memory of another manager of the same place;
/// - speed, and the start of a copy in a stream.
pub struct Subject {
    /// The memory that is checked.
    pub memory: Arc<dyn MemoryManager>,
    /// The manager of its buffers: itself, or the host's.
    pub manager: Arc<dyn MemoryManager>,
    /// Its stream, if it has any.
    pub stream: Option<Arc<dyn Stream>>,
    /// Holds work in the stream back as long as the result lives.
    pub pause: Option<Box<dyn Fn() -> Box<dyn Any>>>,
    /// Creates further streams of the device. The caller is the only holder of each.
    pub new_stream: Option<Box<dyn Fn() -> Arc<dyn Stream>>>,
    /// Memory of another device of the same driver.
    pub second: Option<Arc<dyn MemoryManager>>,
    /// A place of a registered kind that has no device.
    pub missing: Option<Place>,
    /// Whether the host can access the memory without a copy.
    pub is_mappable: bool,
    /// Makes the next release of its memory fail.
    pub fail_release: Option<Box<dyn Fn()>>,
    /// Whether its usage counts exactly the bytes of its own buffers. (A pool rounds up.)
    pub is_exact: bool,
    /// The registered device with this default memory, if it does strided work.
    pub strided: Option<Arc<dyn Device>>,
}

impl Subject {
    /// Memory that manages its own buffers, counts exact bytes, and supports only copies.
    pub fn new(memory: Arc<dyn MemoryManager>) -> Self {
        Self {
            manager: memory.clone(),
            memory,
            stream: None,
            pause: None,
            new_stream: None,
            second: None,
            missing: None,
            is_mappable: false,
            fail_release: None,
            is_exact: true,
            strided: None,
        }
    }

    fn sent(&self, content: &[u8]) -> Buffer {
        Buffer::copy_from_slice(content).unwrap().copy_to(&self.memory).unwrap()
    }

    fn another_stream(&self) -> Option<Arc<dyn Stream>> {
        self.new_stream.as_ref().map(|new| new())
    }

    fn paused_stream(&self) -> (Arc<dyn Stream>, Box<dyn Any>) {
        (self.stream.clone().unwrap(), self.pause.as_ref().unwrap()())
    }
}

impl fmt::Debug for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Subject({:?})", self.memory)
    }
}

/// Some checks use counters of the whole process, which concurrent checks change.
static PROCESS: RwLock<()> = RwLock::new(());

/// Held during checks that may run concurrently.
pub fn beside() -> RwLockReadGuard<'static, ()> {
    PROCESS.read().unwrap_or_else(PoisonError::into_inner)
}

/// Held during a check that must be alone in the process.
pub fn alone() -> RwLockWriteGuard<'static, ()> {
    PROCESS.write().unwrap_or_else(PoisonError::into_inner)
}

/// All checks for one device, each as a separate test in a module of this name: for a [`Subject`],
/// or an `Option` of one where the device may be missing.
#[macro_export]
macro_rules! conforms {
    ($name:ident, $subject:expr) => {
        mod $name {
            use super::*;
            $crate::conforms! { @beside $subject;
                [memory] new_memory_is_of_the_place_the_size_and_the_manager
                [copies] bytes_arrive_unchanged_from_every_kind_of_memory
                [copies] a_range_is_copied_into_a_range_and_nothing_beside
                [copies] sizes_that_differ_and_ranges_that_overlap_are_refused
                [memory] memory_is_mapped_or_copied_and_which_it_was_is_said
                [memory] a_slice_keeps_place_manager_mutability_and_events
                [copies] nothing_is_copied_mapped_and_sliced_too
                [memory] more_memory_than_there_is_is_an_error_that_changes_nothing
                [memory] leases_decide_what_may_be_copied
                [streams] work_in_a_stream_is_done_in_its_order
                [streams] work_holds_its_leases_until_it_is_over
                [streams] the_host_waits_for_work_whatever_it_asks_for
                [streams] a_stream_waits_for_another
                [order] work_comes_after_what_its_stream_waits_for
                [order] a_dropped_stream_does_its_work
                [order] work_after_an_event_that_failed_fails
                [copies] bytes_arrive_unchanged_at_another_device
                [copies] places_of_other_devices_are_not_copied_between
                [memory] a_device_that_does_not_exist_is_out_of_bounds
                [copies] many_threads_copy_at_once
                [streams] what_work_held_last_may_use_the_stream_when_it_is_released
            }
            $crate::conforms! { @alone $subject;
                [memory] what_is_in_use_is_counted_with_its_peak
                [copies] every_byte_that_is_copied_is_counted_and_no_other
                [memory] what_goes_wrong_in_a_release_is_queued_and_readable
            }
            mod strided {
                use super::*;
                $crate::conforms! { @beside $subject;
                    [strided::arrays] what_is_made_of_an_array_stays_where_the_array_is
                    [strided::arrays] new_arrays_are_made_by_the_device
                    [strided::arrays] elements_are_assigned_between_places_whatever_the_strides
                    [strided::arrays] arrays_come_to_a_device_and_back_without_their_gaps
                    [strided::arrays] work_in_a_stream_gives_its_event_and_comes_in_order
                    [strided::arrays] elements_are_assigned_in_a_stream_behind_what_is_in_it
                    [strided::arrays] a_request_that_names_a_place_is_given_it_where_a_copy_is_permitted
                    [strided::arrays] memory_that_is_mapped_has_the_same_elements
                    [strided::arrays] others_are_kept_off_while_a_device_works
                    [order] strided_work_comes_after_earlier_work_in_its_stream
                    [strided::casts] numbers_become_the_same_bytes_as_on_the_processor_and_the_same_ones_are_refused
                    [strided::casts] complex_numbers_are_cast_part_by_part
                    [strided::casts] what_no_kernel_converts_is_unsupported_and_says_so
                    [strided::moves] elements_arrive_whatever_the_strides_and_nothing_else_changes
                    [strided::moves] more_loops_than_a_launch_has_are_as_many_launches
                    [strided::moves] one_element_is_written_everywhere_and_nowhere_else
                    [strided::moves] long_rows_and_slices_of_them_arrive_with_nothing_beside
                    [strided::records] records_become_others_by_the_names_of_their_fields
                    [strided::records] what_lies_between_the_fields_that_are_assigned_is_left_alone
                    [strided::records] the_first_record_that_does_not_fit_is_told_as_on_the_processor
                }
            }
        }
    };
    (@beside $subject:expr; $([$($module:ident)::+] $check:ident)*) => {$(
        #[test]
        fn $check() {
            let _others = $crate::beside();
            if let Some(subject) = Into::<Option<$crate::Subject>>::into($subject) {
                $crate::$($module)::+::$check(&subject);
            }
        }
    )*};
    (@alone $subject:expr; $([$($module:ident)::+] $check:ident)*) => {$(
        #[test]
        fn $check() {
            let _alone = $crate::alone();
            if let Some(subject) = Into::<Option<$crate::Subject>>::into($subject) {
                $crate::$($module)::+::$check(&subject);
            }
        }
    )*};
}

const SIZES: [usize; 6] = [1, 63, 64, 4096, 100_003, 1 << 20];

/// The sizes of copies: without the largest where `CROSSDOCK_CASES` requests fewer random cases,
/// since an instrument makes copies slow.
fn sizes() -> &'static [usize] {
    &SIZES[..SIZES.len() - usize::from(crossdock_testkit::rounds(100) < 100)]
}

/// Host memory.
pub fn host() -> Arc<dyn MemoryManager> {
    device::memory(Place::CPU).unwrap()
}

/// Bytes where adjacent ones differ.
pub fn numbers(nbytes: usize) -> Vec<u8> {
    let mut bytes = vec![0; nbytes];
    crossdock_testkit::count_into(&mut bytes);
    bytes
}

/// The bytes of a buffer at any place.
pub fn bytes(buffer: &Buffer) -> Vec<u8> {
    buffer.copy_to(&host()).unwrap().pin().unwrap().to_vec()
}
