// A matrix in C++: adopts the memory of a std::vector in place, slices it, and lends it by DLPack and the MemoryView protocol.
//
//   c++ -std=c++17 matrix.cpp $(pkg-config --cflags --libs crossdock)

#include <crossdock.hpp>

#include <cstdlib>
#include <iostream>
#include <numeric>
#include <vector>

namespace xd = crossdock;

static void check(bool is, const char *what) {
  if (!is) {
    std::cerr << "not so: " << what << "\n";
    std::exit(1);
  }
}

int main() try {
  std::vector<double> numbers(12);
  std::iota(numbers.begin(), numbers.end(), 0.0);
  const double *where = numbers.data();

  // The array adopts the vector, and destroys it after the last handle.
  xd::array matrix = xd::array::adopt(std::move(numbers), {3, 4});
  check(matrix.address() == reinterpret_cast<std::uintptr_t>(where), "in place");

  // Every second column, backwards: another handle on the same bytes.
  xd::array part = matrix.at(":, ::-2");
  std::cout << part << "\n";

  double sum = 0;
  {
    auto view = part.read<double, 2>(); // a lease, which excludes writers
    for (ssize_t i = 0; i < view.shape()[0]; i++)
      for (ssize_t j = 0; j < view.shape()[1]; j++)
        sum += view(i, j);
  }
  std::cout << "sum " << sum << "\n";
  check(sum == 36, "the sum of the odd columns");

  // A failure is an exception with the numbers.
  try {
    auto writing = matrix.write<float, 2>();
    check(false, "doubles are no floats");
  } catch (const xd::error &error) {
    std::cout << error.what() << "\n";
    check(error.kind() == XD_ERROR_DTYPE, "the kind of the error");
  }

  // Exported by DLPack and imported again: the same address.
  xd::array back = xd::array::from_dlpack(part.to_dlpack());
  check(back.address() == part.address() && back.equals(part), "a tensor there and back");

  // Exported by the MemoryView protocol, and written through the view.
  xd::memory_view view(part.object(), XD_MEMORY_VIEW_WRITABLE);
  xd_value seven{XD_VALUE_INT, {0, 0, 0}, 0, {7}};
  view.set_item(seven, 0, 1);
  check(view->ndim == 2 && view.item(0, 1).number() == 7 && matrix.get({0, 1}).number() == 7, "an item, written in place");
  check(xd_copied_bytes() == 0, "nothing was copied");
  return 0;
} catch (const xd::error &error) {
  std::cerr << error.what() << "\n";
  return 1;
}
