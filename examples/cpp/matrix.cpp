// A matrix in C++: memory of a std::vector adopted in place, seen through strides, lent by DLPack and by the MemoryView protocol.
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

  // Adopted: the vector lives until the last handle goes.
  xd::array matrix = xd::array::adopt(std::move(numbers), {3, 4});
  check(matrix.address() == reinterpret_cast<std::uintptr_t>(where), "in place");

  // Every second column, backwards: another handle on the same bytes.
  xd::array part = matrix.at(":, ::-2");
  std::cout << part << "\n";

  double sum = 0;
  {
    auto view = part.read<double, 2>(); // a lease: nobody writes meanwhile
    for (ssize_t i = 0; i < view.shape()[0]; i++)
      for (ssize_t j = 0; j < view.shape()[1]; j++)
        sum += view(i, j);
  }
  std::cout << "sum " << sum << "\n";
  check(sum == 36, "the sum of the odd columns");

  // What cannot be is an exception with the numbers in it.
  try {
    auto writing = matrix.write<float, 2>();
    check(false, "doubles are no floats");
  } catch (const xd::error &error) {
    std::cout << error.what() << "\n";
    check(error.kind() == XD_ERROR_DTYPE, "the kind of the error");
  }

  // Lent by DLPack and taken back: the same address.
  xd::array back = xd::array::from_dlpack(part.to_dlpack());
  check(back.address() == part.address() && back.equals(part), "a tensor there and back");

  // Lent by the MemoryView protocol, and written through it.
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
