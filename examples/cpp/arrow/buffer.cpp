// Exchanges memory with Arrow's C++ library in both directions: adopts an arrow::Buffer in place, and exports memory as an
// arrow::Buffer that holds Crossdock's lease. Nothing is copied, and each export is released once.
//
// Arrow's headers require C++20. The wheel of pyarrow contains its library: pyarrow.get_include(), pyarrow.get_library_dirs().
//
//   c++ -std=c++20 buffer.cpp $(pkg-config --cflags --libs crossdock arrow)

#include <crossdock.hpp>

#include <arrow/array/array_primitive.h>
#include <arrow/buffer.h>
#include <arrow/type.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <numeric>
#include <vector>

namespace xd = crossdock;

// ----- from Arrow -----

// Adopts a buffer in place, and keeps it while the result or a view of it exists. If this is the only pointer, move it in.
static xd::buffer adopt(std::shared_ptr<arrow::Buffer> buffer) {
  if (!buffer->is_cpu())
    throw xd::error(XD_ERROR_PLACE, "the buffer is in the memory of a device");
  // A buffer that Arrow calls immutable may be a slice of a mutable one.
  bool is_written = false;
  for (const arrow::Buffer *whole = buffer.get(); whole != nullptr; whole = whole->parent().get())
    is_written = is_written || whole->is_mutable();
  const bool is_sole = buffer.use_count() == 1 && buffer->parent() == nullptr;
  const bool is_readonly = !buffer->is_mutable();
  const std::int32_t birth = !is_written ? XD_BIRTH_CONSTANT : is_sole ? XD_BIRTH_SOLE : XD_BIRTH_ALIASED;

  void *data = const_cast<std::uint8_t *>(buffer->data());
  const auto nbytes = static_cast<std::size_t>(buffer->size());
  xd::buffer adopted = xd::buffer::adopt(data, nbytes, std::move(buffer), birth);
  return is_readonly ? adopted.readonly() : std::move(adopted);
}

// ----- to Arrow -----

// Arrow relies on constant bytes: the lease excludes writers while Arrow has the buffer.
class lent final : public arrow::Buffer {
 public:
  explicit lent(xd::lease lease)
      : arrow::Buffer(static_cast<const std::uint8_t *>(lease.data()), static_cast<std::int64_t>(lease.nbytes())),
        lease_(std::move(lease)) {}

 private:
  xd::lease lease_;
};

static std::shared_ptr<arrow::Buffer> lend(const xd::buffer &buffer) { return std::make_shared<lent>(buffer.read()); }

// ----- the program -----

static void check(bool is, const char *what) {
  if (!is) {
    std::cerr << "not so: " << what << "\n";
    std::exit(1);
  }
}

static std::int32_t kind_of(auto call) {
  try {
    call();
  } catch (const xd::error &error) {
    std::cout << error.what() << "\n";
    return error.kind();
  }
  return XD_ERROR_NONE;
}

static int freed;

// 12 floats in an arrow::Buffer whose destructor is counted.
static std::shared_ptr<arrow::Buffer> counted() {
  auto *numbers = new std::vector<float>(12);
  std::iota(numbers->begin(), numbers->end(), 0.0f);
  auto wrapped = arrow::Buffer::Wrap(*numbers);
  return {wrapped.get(), [numbers, wrapped](arrow::Buffer *) {
            delete numbers;
            freed++;
          }};
}

static std::shared_ptr<arrow::FloatArray> middle_row(std::shared_ptr<arrow::Buffer> original) {
  const std::uintptr_t where = original->address();
  xd::buffer buffer = adopt(original);
  check(original.use_count() == 2, "Crossdock holds the buffer by one more pointer");
  check(buffer.address() == where && buffer.is_readonly(), "in place, and as immutable as it was");

  // Sliced and typed by Crossdock.
  xd::array matrix = xd::array::from_buffer(buffer, xd::dtype::of<float>(), {3, 4});
  xd::array odd = matrix.at(":, ::-2");
  float sum = 0;
  {
    auto view = odd.read<float, 2>();
    for (ssize_t i = 0; i < view.shape()[0]; i++)
      for (ssize_t j = 0; j < view.shape()[1]; j++)
        sum += view(i, j);
  }
  std::cout << odd << "\nsum " << sum << "\n";
  check(sum == 36, "the sum of the odd columns");
  check(kind_of([&] { (void)matrix.write<float, 2>(); }) == XD_ERROR_READ_ONLY, "immutable memory cannot be written");

  // Exports the middle row, as an Arrow array.
  std::shared_ptr<arrow::Buffer> row = lend(buffer.slice(16, 16));
  check(row->address() == where + 16 && row->Equals(*arrow::SliceBuffer(original, 16, 16)), "the same bytes");
  original.reset();
  check(freed == 0 && odd.get({2, 0}).number() == 11, "arrays of Crossdock keep the buffer");
  return std::make_shared<arrow::FloatArray>(4, std::move(row));
}

static void there_and_back() {
  std::shared_ptr<arrow::FloatArray> floats = middle_row(counted());
  check(freed == 0 && floats->Value(0) == 4 && floats->Value(3) == 7, "the export keeps it alive, too");
  check(floats->Validate().ok(), "an array of Arrow");
  floats.reset();
  check(freed == 1, "the last holder frees it, once");
}

static void written() {
  // Memory with one owner can be leased for writing.
  auto made = arrow::AllocateBuffer(16);
  check(made.ok(), "16 bytes");
  xd::array sole = xd::array::from_buffer(adopt(std::move(made).ValueUnsafe()), xd::dtype::of<std::int32_t>(), {4});
  sole.write<std::int32_t, 1>()(2) = 7;
  check(sole.get({2}).number() == 7, "an element, written in place");

  // Memory with another owner can be shared, but not leased for writing.
  std::shared_ptr<arrow::Buffer> shared = arrow::AllocateBuffer(16).ValueOrDie();
  {
    xd::array seen = xd::array::from_buffer(adopt(shared), xd::dtype::of<std::int32_t>(), {4});
    check(kind_of([&] { (void)seen.write<std::int32_t, 1>(); }) == XD_ERROR_CONFLICT, "it is not written alone");
    seen.share<std::int32_t, 1>()(1) = -5;
  }
  check(shared.use_count() == 1 && shared->data_as<std::int32_t>()[1] == -5, "Arrow sees what was written");
}

static void exported() {
  xd::buffer buffer = xd::buffer::adopt(std::vector<std::int64_t>{1, 2, 3});
  auto integers = std::make_shared<arrow::Int64Array>(3, lend(buffer));
  check(integers->Value(2) == 3 && integers->values()->address() == buffer.address(), "in place");
  check(kind_of([&] { (void)buffer.write(); }) == XD_ERROR_CONFLICT, "Arrow's buffer excludes writers");
  integers.reset();
  buffer.write();
}

int main() try {
  there_and_back();
  written();
  exported();
  check(xd_copied_bytes() == 0, "nothing was copied");
  return 0;
} catch (const xd::error &error) {
  std::cerr << error.what() << "\n";
  return 1;
}
