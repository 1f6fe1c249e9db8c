// Reads the set whose name is the argument.

#include <crossdock.hpp>
#include <cstdio>
#include <cstdlib>

namespace xd = crossdock;

#define CHECK(is)                                               \
  do {                                                          \
    if (!(is)) {                                                \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #is); \
      std::exit(1);                                             \
    }                                                           \
  } while (0)

int main(int, char **argv) {
  xd::set set = xd::set::connect(argv[1]), moved = std::move(set);
  CHECK(moved.size() == 3 && moved.name(0) == "w" && moved.label() == std::string(argv[1]) + "@1");
  xd::array array = moved["w"];
  CHECK(array.is_readonly() && array.address() == moved["tied"].address() && (array.read<std::int32_t, 1>()(4)) == 7);
  CHECK(moved.is_table("t") && !moved.is_table("w"));
  xd::reader reader = xd::reader::of_set(moved, "t");
  CHECK(reader.next()->rows() == 5 && !reader.next());
  try {
    (void)moved["none"];
    CHECK(false);
  } catch (const xd::error &error) {
    CHECK(error.kind() == XD_ERROR_BOUNDS);
  }
  return 0;
}
