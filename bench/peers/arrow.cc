// Arrow C++ as a peer of the benchmarks: loops over its public interface, for `bench/src/arrow.rs`, which finds them
// through the table at the end.
//
// Each function does its operation `count` times with no foreign call in between, and returns the sum of numbers
// that depend on the results. If an operation fails, its number is missing, which the caller detects.
// Functions never throw to the caller: `noexcept` ends the program.

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include <arrow/buffer.h>
#include <arrow/buffer_builder.h>
#include <arrow/config.h>
#include <arrow/memory_pool.h>

namespace {

bool is_aligned(const uint8_t* data) { return reinterpret_cast<uintptr_t>(data) % 64 == 0; }

arrow::MemoryPool* default_pool() { return arrow::default_memory_pool(); }

uint64_t allocate_from(arrow::MemoryPool* pool, uint64_t count, uint64_t nbytes) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < count; ++i) {
    auto buffer = arrow::AllocateBuffer(static_cast<int64_t>(nbytes), pool);
    if (buffer.ok()) sum += is_aligned((*buffer)->data());
  }
  return sum;
}

// "26.0.1, mimalloc": the library's version, and the allocator behind its default pool.
const char* version() noexcept {
  static const std::string text =
      arrow::GetBuildInfo().version_string + ", " + default_pool()->backend_name();
  return text.c_str();
}

uint64_t allocate(uint64_t count, uint64_t nbytes) noexcept {
  return allocate_from(default_pool(), count, nbytes);
}

// A pool that refuses what would take the default pool above `limit` bytes. Never freed.
void* capped(uint64_t limit) noexcept {
  return new arrow::CappedMemoryPool(default_pool(), static_cast<int64_t>(limit));
}

uint64_t allocate_capped(uint64_t count, uint64_t nbytes, void* pool) noexcept {
  return allocate_from(static_cast<arrow::CappedMemoryPool*>(pool), count, nbytes);
}

uint64_t allocate_write(uint64_t count, uint64_t nbytes) noexcept {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < count; ++i) {
    auto buffer = arrow::AllocateBuffer(static_cast<int64_t>(nbytes));
    if (!buffer.ok()) continue;
    std::memset((*buffer)->mutable_data(), 7, nbytes);
    sum += (*buffer)->data()[nbytes - 1];
  }
  return sum;
}

// The default pool's count of allocated bytes.
uint64_t live() noexcept { return static_cast<uint64_t>(default_pool()->bytes_allocated()); }

// Allocates a written buffer that is never freed.
uint64_t keep(uint64_t nbytes) noexcept {
  auto buffer = arrow::AllocateBuffer(static_cast<int64_t>(nbytes));
  if (!buffer.ok()) return 0;
  std::memset((*buffer)->mutable_data(), 7, nbytes);
  return buffer->release()->data()[nbytes - 1];
}

uint64_t copy_shared_ptr(uint64_t count) noexcept {
  static const auto original = std::make_shared<uint64_t>(41);
  uint64_t sum = 0;
  for (uint64_t i = 0; i < count; ++i) {
    std::shared_ptr<uint64_t> copy = original;
    asm volatile("" : : "r"(copy.get()) : "memory");
    sum += *copy;
  }
  return sum;
}

uint64_t slice(uint64_t count, uint64_t nbytes, uint64_t offset, uint64_t length) noexcept {
  static const std::shared_ptr<arrow::Buffer> parent =
      arrow::AllocateBuffer(static_cast<int64_t>(nbytes)).ValueOrDie();
  uint64_t sum = 0;
  for (uint64_t i = 0; i < count; ++i) {
    auto slice = arrow::SliceBuffer(parent, static_cast<int64_t>(offset), static_cast<int64_t>(length));
    sum += static_cast<uint64_t>(slice->size());
  }
  return sum;
}

uint64_t append(uint64_t count, const uint8_t* chunk, uint64_t chunk_nbytes, uint64_t nbytes) noexcept {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < count; ++i) {
    arrow::BufferBuilder builder;
    for (uint64_t done = 0; done < nbytes; done += chunk_nbytes) {
      if (!builder.Append(chunk, static_cast<int64_t>(chunk_nbytes)).ok()) break;
    }
    auto buffer = builder.Finish();
    if (!buffer.ok()) continue;
    sum += static_cast<uint64_t>((*buffer)->size()) + (*buffer)->data()[(*buffer)->size() - 1];
  }
  return sum;
}

// Writes the digits once, for a comparison of all of them.
uint64_t hex_once(const uint8_t* data, uint64_t nbytes, char* digits) noexcept {
  const std::string text = arrow::Buffer(data, static_cast<int64_t>(nbytes)).ToHexString();
  std::memcpy(digits, text.data(), text.size());
  return text.size();
}

uint64_t hex(uint64_t count, const uint8_t* data, uint64_t nbytes) noexcept {
  const arrow::Buffer buffer(data, static_cast<int64_t>(nbytes));
  uint64_t sum = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const std::string text = buffer.ToHexString();
    sum += text.size() + static_cast<unsigned char>(text.back());
  }
  return sum;
}

uint64_t copy(uint64_t count, const uint8_t* data, uint64_t nbytes) noexcept {
  const arrow::Buffer buffer(data, static_cast<int64_t>(nbytes));
  uint64_t sum = 0;
  for (uint64_t i = 0; i < count; ++i) {
    auto copy = buffer.CopySlice(0, static_cast<int64_t>(nbytes));
    if (copy.ok()) sum += static_cast<uint64_t>((*copy)->size()) + (*copy)->data()[nbytes - 1];
  }
  return sum;
}

uint64_t equals(uint64_t count, const uint8_t* left, const uint8_t* right, uint64_t nbytes) noexcept {
  const arrow::Buffer a(left, static_cast<int64_t>(nbytes)), b(right, static_cast<int64_t>(nbytes));
  uint64_t sum = 0;
  for (uint64_t i = 0; i < count; ++i) sum += a.Equals(b);
  return sum;
}

// Allocates, writes and frees at the limit, and counts in `held` what all threads hold: added after the pool has said yes,
// subtracted before it is freed, so that `held` above `limit` is an excess beyond doubt. Returns how often it was;
// the number of refusals goes to `refused`.
uint64_t race(uint64_t count, void* pool, uint64_t nbytes, uint64_t limit, uint64_t* held,
                   uint64_t* refused) noexcept {
  auto* capped = static_cast<arrow::CappedMemoryPool*>(pool);
  std::atomic_ref<uint64_t> holding(*held);
  uint64_t exceeded = 0;
  for (uint64_t i = 0; i < count; ++i) {
    auto buffer = arrow::AllocateBuffer(static_cast<int64_t>(nbytes), capped);
    if (!buffer.ok()) {
      ++*refused;
      continue;
    }
    exceeded += holding.fetch_add(nbytes) + nbytes > limit;
    std::memset((*buffer)->mutable_data(), 7, nbytes);
    holding.fetch_sub(nbytes);
  }
  return exceeded;
}

// The loops. `Functions` in `bench/src/arrow.rs` is the same, field by field.
struct Peer {
  uint64_t nbytes = sizeof(Peer);
  decltype(&version) version_ = version;
  decltype(&allocate) allocate_ = allocate;
  decltype(&capped) capped_ = capped;
  decltype(&allocate_capped) allocate_capped_ = allocate_capped;
  decltype(&allocate_write) allocate_write_ = allocate_write;
  decltype(&live) live_ = live;
  decltype(&keep) keep_ = keep;
  decltype(&copy_shared_ptr) copy_shared_ptr_ = copy_shared_ptr;
  decltype(&slice) slice_ = slice;
  decltype(&append) append_ = append;
  decltype(&hex_once) hex_once_ = hex_once;
  decltype(&hex) hex_ = hex;
  decltype(&copy) copy_ = copy;
  decltype(&equals) equals_ = equals;
  decltype(&race) race_ = race;
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const Peer crossdock_bench_arrow{};
