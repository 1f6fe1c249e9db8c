// Typed views as mdspan: the compiler's, or the included one that XD_MDSPAN_NAMESPACE names. Prints which.

#include <crossdock.hpp>

#include <cstdio>
#include <cstdlib>
#include <numeric>

#if defined(XD_MDSPAN_NAMESPACE)

namespace xd = crossdock;
namespace md = XD_MDSPAN_NAMESPACE;

#define CHECK(is)                                                        \
  do {                                                                   \
    if (!(is)) {                                                         \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #is);      \
      std::exit(1);                                                      \
    }                                                                    \
  } while (0)

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)

// The message of a call that must fail.
template <class F>
static std::string refused(std::int32_t kind, F call) {
  try {
    call();
  } catch (const xd::error &error) {
    CHECK(error.kind() == kind);
    return error.what();
  }
  CHECK(!"refused");
  return "";
}

static bool says(const std::string &text, const char *words) { return text.find(words) != std::string::npos; }

// Whether it has the shape and the elements of the array.
template <class T, std::size_t N, class Span, std::size_t... Axes>
static bool same(const xd::array &array, const xd::view<T, N> &view, const Span &span, std::index_sequence<Axes...>) {
  static_assert(Span::rank() == N && std::is_same_v<typename Span::element_type, T>);
  static_assert(std::is_same_v<typename Span::layout_type, md::layout_stride>);
  xd::extents index(N, 0);
  bool is = span.size() == array.size() && ((span.extent(Axes) == view.shape()[Axes]) && ...);
  for (std::size_t left = array.size(); left > 0; left--) {
    const T &element = span.accessor().access(span.data_handle(), static_cast<std::size_t>(span.mapping()(index[Axes]...)));
    is = is && &element == &view(index[Axes]...) && static_cast<double>(element) == array.get(index).number();
    for (std::size_t axis = N; axis-- > 0; index[axis] = 0)
      if (++index[axis] < view.shape()[axis])
        break;
  }
  return is;
}

template <class T, std::size_t N>
static auto checked(const xd::array &array, const xd::view<T, N> &view) {
  auto span = view.mdspan();
  CHECK((same<T, N>(array, view, span, std::make_index_sequence<N>())));
  return span;
}

static xd::array ramp(const xd::extents &shape) {
  std::vector<int> numbers(static_cast<std::size_t>(std::accumulate(shape.begin(), shape.end(), ssize_t{1}, std::multiplies<>())));
  std::iota(numbers.begin(), numbers.end(), 0);
  return xd::array::adopt(std::move(numbers), shape);
}

static void taken() {
  xd::array cube = ramp({4, 5, 6});
  auto view = cube.read<int, 3>();
  CHECK(checked(cube, view).is_exhaustive());

  // Column-major, and with gaps.
  xd::array turned = cube.transpose();
  auto turned_view = turned.read<int, 3>();
  auto span = checked(turned, turned_view);
  CHECK(span.stride(0) == 1 && span.stride(2) == 30 && span.is_exhaustive());
  xd::array part = cube.at("1::2, ::2, 2:5");
  auto part_view = part.pin<int, 3>();
  auto part_span = checked(part, part_view);
  CHECK(part_span.stride(0) == 60 && part_span.stride(1) == 12 && !part_span.is_exhaustive());
  xd::array row = cube.at("3, 4");
  auto row_view = row.read<int, 1>();
  CHECK(checked(row, row_view).stride(0) == 1);
  xd::array scalar = cube.at("3, 4, 5");
  auto scalar_view = scalar.read<int, 0>();
  CHECK(checked(scalar, scalar_view).size() == 1);

  // Axes of length 1 or 0 may have any stride.
  xd::array single = cube.at("3:2:-1, ::-5, :");
  CHECK(single.strides()[0] < 0 && single.strides()[1] < 0);
  auto single_view = single.read<int, 3>();
  CHECK(checked(single, single_view).stride(2) == 1);
  xd::array empty = cube.at("::-1, 0:0, :");
  auto empty_view = empty.read<int, 3>();
  CHECK(checked(empty, empty_view).empty());
}

static void written() {
  xd::array matrix = ramp({2, 3});
  {
    auto view = matrix.transpose().write<int, 2>();
    auto span = view.mdspan();
    span.accessor().access(span.data_handle(), static_cast<std::size_t>(span.mapping()(2, 1))) = -7;
  }
  CHECK(matrix.get({1, 2}).number() == -7);
}

static void not_taken() {
  xd::array matrix = ramp({4, 6});
  CHECK(says(refused(XD_ERROR_LAYOUT, [&] { (void)matrix.at("::-1").read<int, 2>().mdspan(); }), "axis 0 is -24"));
  CHECK(says(refused(XD_ERROR_LAYOUT, [&] { (void)matrix.at(":, ::-2").read<int, 2>().mdspan(); }), "axis 1 is -8"));
  const auto i32 = xd::dtype::of<int>();
  const auto laid = [&](const xd::extents &shape, const xd::extents &strides) {
    return xd::array::from_buffer(xd::buffer::zeroed(96), i32, shape, strides, 0);
  };
  CHECK(says(refused(XD_ERROR_LAYOUT, [&] { (void)laid({3, 2}, {0, 4}).read<int, 2>().mdspan(); }), "axis 0 is 0"));
  CHECK(says(refused(XD_ERROR_LAYOUT, [&] { (void)laid({3, 4}, {4, 4}).read<int, 2>().mdspan(); }), "4 bytes does not"));

  // A stride smaller than the element, for a type whose alignment is smaller than its size.
  xd::array within = xd::array::from_buffer(xd::buffer::zeroed(64), xd::dtype::of<std::complex<double>>(), {3}, {24}, 0);
  CHECK(says(refused(XD_ERROR_LAYOUT, [&] { (void)within.read<std::complex<double>, 1>().mdspan(); }), "multiples of 16 bytes"));

  CHECK(says(refused(XD_ERROR_DTYPE, [&] { (void)matrix.read<float, 2>().mdspan(); }), "int32, not float32"));
  CHECK(says(refused(XD_ERROR_DTYPE, [&] { (void)matrix.read<unsigned, 2>().mdspan(); }), "uint32"));
  refused(XD_ERROR_SHAPE, [&] { (void)matrix.read<int, 3>().mdspan(); });
}

int main() {
  taken();
  written();
  not_taken();
  std::puts(TEXT(XD_MDSPAN_NAMESPACE));
  return 0;
}

#else

int main() {
  std::puts("none");
  return 0;
}

#endif
