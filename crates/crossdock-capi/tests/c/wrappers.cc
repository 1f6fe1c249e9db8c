// The additions of crossdock.hpp: ownership, exceptions, typed views.

#include <crossdock.hpp>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include <sys/socket.h>
#include <unistd.h>

namespace xd = crossdock;

#define CHECK(is)                                                        \
  do {                                                                   \
    if (!(is)) {                                                         \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #is);      \
      std::exit(1);                                                      \
    }                                                                    \
  } while (0)

// The kind of the error that a call throws; XD_ERROR_NONE if it throws none.
template <class F>
static std::int32_t kind_of(F call) {
  try {
    call();
  } catch (const xd::error &error) {
    CHECK(std::string(error.what()).size() > 5);
    return error.kind();
  }
  return XD_ERROR_NONE;
}

struct counted {
  int *alive;
  explicit counted(int *number) : alive(number) { ++*alive; }
  counted(counted &&other) noexcept : alive(other.alive) { ++*alive; }
  ~counted() { --*alive; }
};

static void buffers() {
  static char bytes[8] = "seventh";
  int alive = 0;
  {
    xd::buffer buffer = xd::buffer::adopt(bytes, sizeof bytes, counted(&alive));
    CHECK(alive == 1 && buffer.address() == reinterpret_cast<std::uintptr_t>(bytes));
    xd::buffer part = buffer.slice(1, 3);
    buffer = xd::buffer::zeroed(4);
    CHECK(alive == 1 && std::memcmp(part.read().data(), "eve", 3) == 0);
    std::thread([moved = std::move(part)] { CHECK(moved.nbytes() == 3); }).join();
    CHECK(alive == 0 && part.get() == nullptr);
    CHECK(kind_of([&] { (void)buffer.slice(3, 2); }) == XD_ERROR_BOUNDS);
    xd::lease writing = buffer.write();
    CHECK(kind_of([&] { (void)buffer.pin(); }) == XD_ERROR_CONFLICT);
    CHECK(writing.mutable_data() != nullptr && buffer.readonly().is_readonly());
  }
  CHECK(kind_of([&] { (void)xd::buffer::adopt(bytes, 8, counted(&alive), 9); }) == XD_ERROR_ARGUMENT && alive == 0);
  xd::buffer empty = xd::buffer::adopt(std::vector<int>());
  CHECK(empty.nbytes() == 0);
}

static void texts() {
  using namespace std::string_literals;
  const xd::array array = xd::array::zeros<float>({2, 3});
  CHECK(kind_of([] { (void)xd::dtype::parse("<f8\0rest"s); }) == XD_ERROR_ARGUMENT);
  CHECK(kind_of([] { (void)xd::dtype::parse_pack("d\0d"s); }) == XD_ERROR_ARGUMENT);
  CHECK(kind_of([] { (void)xd::array::open("a.npy\0.old"s); }) == XD_ERROR_ARGUMENT);
  CHECK(kind_of([&] { (void)array.at("0\0, 99"s); }) == XD_ERROR_ARGUMENT);
  CHECK(kind_of([&] { (void)array.field("a\0b"s); }) == XD_ERROR_ARGUMENT);
  CHECK(kind_of([&] { array.save("a\0.npy"s); }) == XD_ERROR_ARGUMENT);
}

static void arrays() {
  xd::array array = xd::array::zeros<float>({2, 3});
  CHECK(array.dtype() == xd::dtype::of<float>() && array.dtype().typestr() == "<f4" && array.size() == 6);
  {
    auto view = array.write<float, 2>();
    for (int i = 0; i < 2; i++)
      for (int j = 0; j < 3; j++)
        view(i, j) = static_cast<float>(10 * i + j);
    CHECK(kind_of([&] { view.at(0, 3) = 1; }) == XD_ERROR_BOUNDS && view.at(1, 2) == 12);
#if defined(__cpp_lib_span)
    CHECK(view.span()[5] == 12 && kind_of([&] { (void)array.read<float, 2>(); }) == XD_ERROR_CONFLICT);
#endif
  }
  xd::array turned = array.transpose();
  auto view = turned.read<float, 2>();
  array = xd::array::zeros<bool>({1});
  CHECK(view.shape()[0] == 3 && view(2, 1) == 12 && !view.is_row_major());
#if defined(__cpp_lib_span)
  CHECK(kind_of([&] { (void)view.span(); }) == XD_ERROR_LAYOUT);
#endif
  CHECK(kind_of([&] { (void)turned.read<float, 3>(); }) == XD_ERROR_SHAPE);
  CHECK(kind_of([&] { (void)turned.read<double, 2>(); }) == XD_ERROR_DTYPE);
  CHECK(turned.get({2, 1}).number() == 12 && kind_of([&] { (void)turned.get({0}); }) == XD_ERROR_SHAPE);
  CHECK(turned.explain("numpy").find("numpy.asarray") != std::string::npos);
  CHECK(turned.copy().equals(turned) && turned.slice({XD_RANGE(0, 2, 1), XD_INDEX(1)}).text() == "[10. 11.]");
  CHECK(turned.clone().reshape({3, 2, 1}).ndim() == 3);
  CHECK(turned.cast(xd::dtype::of<std::int8_t>()).permute({1, 0}).strides() == (xd::extents{1, 2}));
  CHECK(xd::array::zeros<std::complex<double>>({1}).dtype().text() == "complex128");

  array = xd::array::full({2, 3}, std::int16_t{7});
  array.set({1, 2}, 9);
  CHECK(array.dtype().typestr() == "<i2" && array.text() == "[[7 7 7]\n [7 7 9]]");
  CHECK(kind_of([&] { array.set({0, 0}, 40000); }) == XD_ERROR_VALUE && kind_of([&] { array.fill(0.5); }) == XD_ERROR_VALUE);
  CHECK(array.insert_axis(0).swap_axes(0, 2).move_axis(2, 0).shape() == (xd::extents{1, 3, 2}));
  CHECK(array.insert_axis(1).squeeze().drop_axis(1, 2).text() == "[7 9]" && array.diagonal().size() == 2);
  CHECK(array.blocks({1, 3}).shape() == (xd::extents{2, 1, 1, 3}));
  CHECK(array.broadcast_to({5, 2, 3}).get({4, 1, 2}).number() == 9);
  CHECK(array.view_as(xd::dtype::of<std::uint8_t>()).shape() == (xd::extents{2, 6}));
  array.fill(true);
  CHECK(array.all_close(xd::array::full(xd::dtype::of<double>(), {2, 3}, 1u)));
  CHECK(!array.all_close(xd::array::full({2, 3}, 1.5f)));
  const xd_value seven = {XD_VALUE_INT, {0, 0, 0}, 0, {7}};
  CHECK(xd::array::full(xd::dtype::of<float>(), {2}, seven).text() == "[7. 7.]");
  CHECK(xd::array::full(array.dtype(), {1, 2}, array.get({0, 0}).get(), XD_COLUMN_MAJOR).text() == "[[1 1]]");
  xd_value parts[] = {{XD_VALUE_FLOAT, {0, 0, 0}, 0, {0}}, {XD_VALUE_FLOAT, {0, 0, 0}, 0, {0}}};
  parts[0].as.f = 1, parts[1].as.f = 2;
  xd_value both = {XD_VALUE_COMPLEX, {0, 0, 0}, 2, {0}};
  both.as.items = parts;
  CHECK(xd::array::full(xd::dtype::of<std::complex<double>>(), {1}, both).text() == "[1.+2.j]");
  CHECK(kind_of([] { (void)xd::array::from_arrow(nullptr, nullptr); }) == XD_ERROR_ARGUMENT);
  CHECK(kind_of([&] { array.to_arrow(nullptr, nullptr); }) == XD_ERROR_ARGUMENT);

  // Unaligned elements are not read through a pointer.
  xd::array odd = xd::array::from_buffer(xd::buffer::zeroed(9), xd::dtype::of<double>(), {1}, {8}, 1);
  CHECK(kind_of([&] { (void)odd.read<double, 1>(); }) == XD_ERROR_ALIGNMENT && odd.get({0}).number() == 0);
  CHECK(kind_of([&] { (void)xd::array::from_buffer(xd::buffer::zeroed(9), xd::dtype::of<double>(), {1}, {}, 0); }) ==
        XD_ERROR_SHAPE);
}

static void records() {
  xd::array trades = xd::array::zeros(xd::dtype::parse("[('price', '<f8'), ('codes', '|u1', (2,))]"), {3});
  CHECK(trades.field("codes").shape() == (xd::extents{3, 2}));
  xd::value first = trades.get({0}), second = std::move(first);
  CHECK(first.kind() == XD_VALUE_NIL && second.kind() == XD_VALUE_LIST && second.end() - second.begin() == 2);
  CHECK(kind_of([&] { (void)second.number(); }) == XD_ERROR_VALUE);
  first = std::move(second);
  CHECK(first.begin()->kind == XD_VALUE_FLOAT);
}

static void objects() {
  xd::array array = xd::array::adopt(std::vector<int>{1, 2, 3}, {3});
  {
    xd::memory_view view(array.object()), moved = std::move(view);
    CHECK(view->reserved == nullptr && moved.item(2).number() == 3 && xd_memory_view_exports(array.object()) == 1);
    CHECK(kind_of([&] { (void)moved.item(3); }) == XD_ERROR_BOUNDS && kind_of([&] { (void)moved.item(0, 0); }) == XD_ERROR_SHAPE);
    CHECK(kind_of([&] { moved.set_item(xd_value{XD_VALUE_INT, {0, 0, 0}, 0, {1}}, 0); }) == XD_ERROR_READ_ONLY);
    CHECK(kind_of([&] { (void)array.write<int, 1>(); }) == XD_ERROR_CONFLICT);
  }
  CHECK(xd_memory_view_exports(array.object()) == 0 && (array.write<int, 1>()(2)) == 3);
  CHECK(kind_of([&] { xd::memory_view view(array.readonly().object(), XD_MEMORY_VIEW_WRITABLE); }) == XD_ERROR_REFUSED);
  xd::array same = xd::array::from_object(array.object());
  CHECK(same.address() == array.address() && same.is_readonly());
}

// Assignment between two imports of one memory gives the same result as a copy made first.
static void same_memory_twice() {
  std::vector<int> numbers(100);
  for (int k = 0; k < 100; k++)
    numbers[static_cast<std::size_t>(k)] = k;
  auto import = [&] {
    xd::buffer all = xd::buffer::adopt(numbers.data(), 100 * sizeof(int), 0, XD_BIRTH_ALIASED);
    return xd::array::from_buffer(all, xd::dtype::of<int>(), {100});
  };
  xd::array one = import(), two = import();
  one.at("1:").assign(two.at(":-1"));
  for (int k = 1; k < 100; k++)
    CHECK(numbers[0] == 0 && numbers[static_cast<std::size_t>(k)] == k - 1);
  one.reshape({10, 10}).assign(two.reshape({10, 10}).transpose());
  for (int k = 1; k < 100; k++)
    CHECK(numbers[static_cast<std::size_t>(k % 10 * 10 + k / 10)] == k - 1);
}

static void channels() {
  xd::channel channel(2, 64), other = xd::channel::open(channel.fd());
  xd::sender sender = channel.sender();
  xd::receiver receiver = other.receiver();
  CHECK(!receiver.receive(0).has_value());
  xd::loan loan = sender.loan<int>({2, 3});
  loan.array().at("1, 2").assign(xd::array::zeros<int>({}));
  loan.send();
  sender.send(xd::array::zeros<double>({4}), 0);
  CHECK(receiver.receive()->shape() == xd::extents({2, 3}) && receiver.receive()->ndim() == 1);
  {
    xd::channel tables(1, 1 << 12);
    xd::receiver end = tables.receiver();
    std::vector<xd::column> columns;
    columns.push_back(xd::column::from_array(xd::array::zeros<double>({4}), "price"));
    std::vector<xd::batch> batches;
    batches.push_back(xd::batch::from_columns(columns));
    batches.push_back(batches[0].slice(0, 1));
    tables.sender().send(batches);
    CHECK(kind_of([&] { tables.sender().send(batches, 0); }) == XD_ERROR_EXHAUSTED);
    std::optional<xd::reader> reader = end.receive_table();
    CHECK(reader->schema().name(0) == "price" && reader->next()->rows() == 4 && reader->next()->rows() == 1);
    CHECK(!reader->next().has_value() && !end.receive_table(0).has_value());
    reader.reset();
    tables.sender().send(batches);
    CHECK(xd::reader::of_message(*end.receive())->next()->rows() == 4);
    CHECK(!xd::reader::of_message(xd::array::zeros<double>({4})).has_value());
  }
  channel.close();
  try {
    (void)receiver.receive();
    CHECK(false);
  } catch (const xd::error &error) {
    CHECK(error.kind() == XD_ERROR_CLOSED && other.sent() == 2 && receiver.missed() == 0);
  }
}

static void tables() {
  xd::array array = xd::array::adopt(std::vector<double>{1.5, 2.5, 3.5}, {3});
  std::vector<xd::column> columns;
  columns.push_back(xd::column::from_array(array, "price"));
  columns.push_back(xd::column::from_array(xd::array::zeros<int>({3}), "count"));
  xd::batch batch = xd::batch::from_columns(columns);
  CHECK(batch.rows() == 3 && batch.columns() == 2 && batch["price"].array().address() == array.address());
  CHECK(batch.schema().name(1) == "count" && batch.schema().format(0) == "g" && batch.schema().type(1) == "int32");
  CHECK(batch.schema().index("count") == std::size_t{1} && !batch.schema().index("colour").has_value());
  CHECK(kind_of([&] { (void)batch["colour"]; }) == XD_ERROR_BOUNDS && kind_of([&] { (void)batch[9]; }) == XD_ERROR_BOUNDS);
  CHECK(kind_of([&] { (void)batch.schema().name(2); }) == XD_ERROR_BOUNDS);
  CHECK(batch.slice(1, 2).select({0})[0][1].number() == 3.5 && batch.records().ndim() == 1);
  CHECK(kind_of([&] { (void)batch[0].text(); }) == XD_ERROR_UNSUPPORTED && batch[0].null_count() == 0);
  xd::reader reader = [&] {
    std::vector<xd::batch> batches;
    batches.push_back(batch.clone());
    batches.push_back(batch.slice(2, 1));
    return xd::reader::from_batches(batches);
  }();
  CHECK(reader.schema().size() == 2 && reader.next()->rows() == 3 && reader.next()->rows() == 1 && !reader.next().has_value());
  CHECK(kind_of([] { (void)xd::column::from_arrow(nullptr, nullptr); }) == XD_ERROR_ARGUMENT);
}

// Pools, files, sockets and devices.
static void places(const std::string &folder) {
  xd::pool pool = xd::pool::by_default().capped("wrappers", 1 << 16);
  xd::array array = xd::array::zeros(pool, xd::dtype::of<float>(), {4, 6});
  CHECK(pool.statistics().live_count == 1 && pool.name() == "wrappers" && pool.alloc(10).nbytes() == 10);
  CHECK(kind_of([&] { (void)pool.alloc(1 << 20); }) == XD_ERROR_OUT_OF_MEMORY);
  array.write<float, 2>()(3, 5) = 7;
  CHECK(array.flatten().get({23}).number() == 7 && array.reverse(0).get({0, 5}).number() == 7);
  CHECK((array.windows({2, 2}).shape() == xd::extents{3, 5, 2, 2}));

  const std::string path = folder + "/wrappers.npz";
  array.save(path);
  CHECK(kind_of([&] { array.save(path, {XD_SAVING_NEW, 0, 0, 0, nullptr, 0, nullptr, nullptr}); }) == XD_ERROR_IO);
  xd::contents contents = xd::contents::open(path);
  CHECK(contents.size() == 1 && contents.names().size() == 1 && contents[0].equals(array) && contents[contents.name(0)].equals(array));
  CHECK(kind_of([&] { (void)contents["nothing"]; }) == XD_ERROR_BOUNDS);
  CHECK(!xd::array::open(path, {XD_OPENING_COPIED, 0, 0, nullptr, nullptr}).is_readonly());

  int ends[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  CHECK(kind_of([&] { array.send(ends[0]); }) == XD_ERROR_REFUSED);
  xd::array shared = array.to_shared();
  shared.send(ends[0]);
  std::optional<xd::array> received = xd::array::receive(ends[1]);
  CHECK(received && received->equals(array));
  close(ends[0]);
  CHECK(!xd::array::receive(ends[1]));
  close(ends[1]);

  CHECK(xd::place::parse("cuda:2").to_text() == "cuda:2" && array.place() == xd::place());
  CHECK(array.to_device({}).equals(array) && !xd::stream::of({}));
  CHECK(kind_of([&] { (void)array.to_device({XD_DEVICE_VULKAN, 0}); }) == XD_ERROR_UNSUPPORTED);
  xd_device_register_cuda(nullptr);
  std::optional<xd::stream> stream;
  try {
    stream = xd::stream::of(xd::place::parse("cuda:0")); // perhaps of a driver without a GPU
  } catch (const xd::error &error) {
    CHECK(error.kind() == XD_ERROR_UNSUPPORTED);
    return;
  }
  xd::array there = array.to_device({XD_DEVICE_CUDA, 0}, *stream);
  xd::event end = stream->record();
  stream->wait(end);
  stream->synchronize();
  end.wait();
  CHECK(end.is_done() && there.place() != xd::place() && there.to_device({}).equals(array));
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  places(argv[1]);
  tables();
  channels();
  buffers();
  texts();
  arrays();
  records();
  objects();
  same_memory_twice();
  return 0;
}
