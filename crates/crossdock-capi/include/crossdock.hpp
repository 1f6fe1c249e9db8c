/* Crossdock for C++: classes for the handles of crossdock.h, which free them and throw exceptions.
 * Header only; requires C++17. Uses std::span and std::mdspan if the compiler has them. To use another
 * mdspan (of Kokkos, of CUDA's C++ library), include its header first and define XD_MDSPAN_NAMESPACE
 * as its namespace.
 *
 *   auto array = crossdock::array::zeros<double>({2, 3});
 *   auto view = array.write<double, 2>();
 *   view(1, 2) = 7;
 *
 * Objects are moved, not copied; `clone()` returns another handle. Failures throw crossdock::error,
 * whose kind() is one of XD_ERROR_*. Arrays and views keep their memory alive, so they may outlive the
 * objects that they were made from. */

#ifndef CROSSDOCK_HPP
#define CROSSDOCK_HPP

#if (defined(_MSVC_LANG) ? _MSVC_LANG : __cplusplus) < 201703L
#error "crossdock.hpp requires C++17 (-std=c++17)"
#endif

#include "crossdock.h"

#include <algorithm>
#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__has_include)
#if __has_include(<version>)
#include <version>
#endif
#endif
#if defined(__cpp_lib_span)
#include <span>
#endif
#if !defined(XD_MDSPAN_NAMESPACE) && defined(__cpp_lib_mdspan)
#include <mdspan>
#define XD_MDSPAN_NAMESPACE std
#endif

namespace crossdock {

/* An error: one sentence, and its kind. */
class error : public std::runtime_error {
 public:
  error(std::int32_t kind, const std::string &text) : std::runtime_error(text), kind_(kind) {}
  std::int32_t kind() const noexcept { return kind_; }

 private:
  std::int32_t kind_;
};

namespace detail {

/* The last argument of functions that can fail. */
class slot {
 public:
  slot() = default;
  slot(const slot &) = delete;
  slot &operator=(const slot &) = delete;
  ~slot() { xd_error_free(error_); }
  operator xd_error_t **() noexcept { return &error_; }

  /* Throws if the call failed; otherwise returns its result. */
  template <class T>
  T taken(T result) const {
    if (error_ != nullptr)
      throw error(xd_error_kind(error_), xd_error_message(error_));
    return result;
  }

 private:
  xd_error_t *error_ = nullptr;
};

/* Calls a function whose last argument is an error. */
template <class F, class... Arguments>
auto call(F function, Arguments... arguments) {
  slot error;
  return error.taken(function(arguments..., error));
}

/* A text for C. Throws if it contains a zero byte, at which C would cut it. */
inline const char *text(const std::string &whole) {
  const std::size_t end = whole.find('\0');
  if (end != std::string::npos)
    throw error(XD_ERROR_ARGUMENT, "the text of " + std::to_string(whole.size()) + " bytes has a zero byte at " +
                std::to_string(end));
  return whole.c_str();
}

template <class T, void (*Free)(T *)>
struct freed {
  void operator()(T *handle) const noexcept { Free(handle); }
};

template <class T, void (*Free)(T *)>
using handle = std::unique_ptr<T, freed<T, Free>>;

inline std::string owned(char *text) {
  handle<char, xd_string_free> owner(text);
  return std::string(text);
}

/* A number or a bool as the value of an element. */
template <class T>
xd_value value_of(T number) noexcept {
  static_assert(std::is_arithmetic_v<T>, "pass a number, a bool or an xd_value");
  xd_value value = {XD_VALUE_NIL, {0, 0, 0}, 0, {0}};
  if constexpr (std::is_floating_point_v<T>) {
    value.kind = XD_VALUE_FLOAT;
    value.as.f = static_cast<double>(number);
  } else if constexpr (std::is_signed_v<T>) {
    value.kind = XD_VALUE_INT;
    value.as.i = number;
  } else {
    value.kind = std::is_same_v<T, bool> ? XD_VALUE_BOOL : XD_VALUE_UINT;
    value.as.u = number;
  }
  return value;
}

template <class T>
struct is_complex : std::false_type {};
template <class T>
struct is_complex<std::complex<T>> : std::true_type {};

/* DLPack's code for a C++ type. */
template <class T>
constexpr std::uint8_t code_of() {
  static_assert(std::is_arithmetic_v<T> || is_complex<T>::value, "an element is a number, a bool or a std::complex");
  if constexpr (is_complex<T>::value)
    return 5;
  else if constexpr (std::is_same_v<T, bool>)
    return 6;
  else if constexpr (std::is_floating_point_v<T>)
    return 2;
  else
    return std::is_signed_v<T> ? 0 : 1;
}

}  // namespace detail

/* Lengths, strides and indices. */
using extents = std::vector<ssize_t>;

/* The type of an element. */
class dtype {
 public:
  explicit dtype(xd_dtype_t *taken) noexcept : handle_(taken) {}

  /* From a dtype's name or NumPy's spelling, from Ruby's spelling, or from a C++ type. */
  static dtype parse(const std::string &typestr) { return dtype(detail::call(xd_dtype_parse, detail::text(typestr))); }
  static dtype parse_pack(const std::string &pack) {
    return dtype(detail::call(xd_dtype_parse_pack, detail::text(pack)));
  }
  template <class T>
  static dtype of() {
    return dtype(detail::call(xd_dtype_from_dlpack, detail::code_of<T>(), static_cast<std::uint8_t>(8 * sizeof(T)),
                              std::uint16_t{1}));
  }

  dtype clone() const { return dtype(detail::call(xd_dtype_clone, get())); }
  std::int32_t kind() const noexcept { return xd_dtype_kind(get()); }
  std::size_t itemsize() const noexcept { return xd_dtype_itemsize(get()); }
  std::string text() const { return detail::owned(detail::call(xd_dtype_to_text, get())); }
  std::string typestr() const { return detail::owned(detail::call(xd_dtype_to_typestr, get())); }
  friend bool operator==(const dtype &a, const dtype &b) noexcept { return xd_dtype_equals(a.get(), b.get()); }
  friend bool operator!=(const dtype &a, const dtype &b) noexcept { return !(a == b); }
  const xd_dtype_t *get() const noexcept { return handle_.get(); }

 private:
  detail::handle<xd_dtype_t, xd_dtype_free> handle_;
};

/* The value of one element. */
class value {
 public:
  value() noexcept : held_{XD_VALUE_NIL, {0, 0, 0}, 0, {0}} {}
  explicit value(xd_value taken) noexcept : held_(taken) {}
  value(value &&other) noexcept : held_(std::exchange(other.held_, value().held_)) {}
  value &operator=(value &&other) noexcept {
    std::swap(held_, other.held_);
    return *this;
  }
  ~value() { xd_value_free(&held_); }

  std::uint8_t kind() const noexcept { return held_.kind; }
  const xd_value &get() const noexcept { return held_; }
  /* The items of a list. */
  const xd_value *begin() const noexcept { return is_list() ? held_.as.items : nullptr; }
  const xd_value *end() const noexcept { return is_list() ? held_.as.items + held_.len : nullptr; }

  /* The value as a number of any kind; XD_ERROR_VALUE if it is not a number. */
  double number() const {
    switch (held_.kind) {
      case XD_VALUE_INT: return static_cast<double>(held_.as.i);
      case XD_VALUE_UINT:
      case XD_VALUE_BOOL: return static_cast<double>(held_.as.u);
      case XD_VALUE_FLOAT: return held_.as.f;
      default: throw error(XD_ERROR_VALUE, "a value of kind " + std::to_string(held_.kind) + " is not a number");
    }
  }

 private:
  bool is_list() const noexcept { return held_.kind == XD_VALUE_LIST && held_.len > 0; }

  xd_value held_;
};

/* Permission to access bytes, which the destructor releases. */
class lease {
 public:
  explicit lease(xd_lease_t *taken) noexcept : handle_(taken) {}

  const void *data() const noexcept { return xd_lease_data(handle_.get()); }
  void *mutable_data() const noexcept { return xd_lease_mutable_data(handle_.get()); }
  std::size_t nbytes() const noexcept { return xd_lease_nbytes(handle_.get()); }
  std::int32_t kind() const noexcept { return xd_lease_kind(handle_.get()); }
#if defined(__cpp_lib_span)
  /* For the lease of a buffer. */
  std::span<const std::byte> bytes() const noexcept { return {static_cast<const std::byte *>(data()), nbytes()}; }
  std::span<std::byte> mutable_bytes() const noexcept {
    void *first = mutable_data();
    return {static_cast<std::byte *>(first), first == nullptr ? 0 : nbytes()};
  }
#endif

 private:
  detail::handle<xd_lease_t, xd_lease_release> handle_;
};

/* Bytes with an owner. */
class buffer {
 public:
  explicit buffer(xd_buffer_t *taken) noexcept : handle_(taken) {}

  static buffer zeroed(std::size_t nbytes) { return buffer(detail::call(xd_buffer_alloc, nbytes)); }
  static buffer copy_of(const void *bytes, std::size_t nbytes) {
    return buffer(detail::call(xd_buffer_copy, bytes, nbytes));
  }

  /* The memory of an owner, in place: `owner` is moved, and destroyed after the last handle or lease. */
  template <class Owner>
  static buffer adopt(void *data, std::size_t nbytes, Owner owner, std::int32_t birth = XD_BIRTH_SOLE) {
    auto held = std::make_unique<Owner>(std::move(owner));
    auto release = [](void *context) { delete static_cast<Owner *>(context); };
    return buffer(detail::call(xd_buffer_adopt, data, nbytes, birth, static_cast<void (*)(void *)>(release),
                               static_cast<void *>(held.release())));
  }

  /* A vector's memory, in place. */
  template <class T>
  static buffer adopt(std::vector<T> vector) {
    static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>, "numbers");
    /* Moved to the heap before its address is taken, since a later move could change the address. */
    auto held = std::make_unique<std::vector<T>>(std::move(vector));
    T *first = held->data();
    const std::size_t nbytes = held->size() * sizeof(T);
    return adopt(first, nbytes, std::move(held));
  }

  buffer clone() const { return buffer(detail::call(xd_buffer_clone, get())); }
  buffer slice(std::size_t offset, std::size_t nbytes) const {
    return buffer(detail::call(xd_buffer_slice, get(), offset, nbytes));
  }
  buffer readonly() const { return buffer(detail::call(xd_buffer_readonly, get())); }
  std::size_t nbytes() const noexcept { return xd_buffer_nbytes(get()); }
  bool is_readonly() const noexcept { return xd_buffer_is_readonly(get()); }
  std::uintptr_t address() const noexcept { return xd_buffer_address(get()); }
  lease read() const { return take(XD_LEASE_READ); }
  lease write() const { return take(XD_LEASE_WRITE); }
  lease share() const { return take(XD_LEASE_SHARE); }
  lease pin() const { return take(XD_LEASE_PIN); }
  const xd_buffer_t *get() const noexcept { return handle_.get(); }

 private:
  lease take(std::int32_t kind) const { return lease(detail::call(xd_buffer_lease, get(), kind)); }

  detail::handle<xd_buffer_t, xd_buffer_free> handle_;
};

/* Where new memory comes from. Buffers and arrays of a pool keep it alive. */
class pool {
 public:
  explicit pool(xd_pool_t *taken) noexcept : handle_(taken) {}

  static pool by_default() { return pool(detail::call(xd_pool_default)); }
  static pool system() { return pool(detail::call(xd_pool_system)); }
  /* Its buffers can be sent to other processes in place. */
  static pool shareable(std::size_t limit_nbytes = std::size_t{1} << 30, std::uint64_t quiet_ms = 500) {
    return pool(detail::call(xd_pool_shareable, limit_nbytes, quiet_ms));
  }
  pool capped(const std::string &name, std::size_t limit_nbytes) const {
    return pool(detail::call(xd_pool_capped, get(), detail::text(name), limit_nbytes));
  }

  pool clone() const { return pool(detail::call(xd_pool_clone, get())); }
  std::string name() const { return detail::owned(detail::call(xd_pool_name, get())); }
  xd_statistics statistics() const noexcept {
    xd_statistics statistics;
    xd_pool_statistics(get(), &statistics);
    return statistics;
  }
  std::size_t trim() const noexcept { return xd_pool_trim(get()); }
  buffer alloc(std::size_t nbytes, std::size_t alignment = 0, std::uint32_t flags = 0) const {
    return buffer(detail::call(xd_pool_alloc, get(), nbytes, alignment, flags));
  }
  const xd_pool_t *get() const noexcept { return handle_.get(); }

 private:
  detail::handle<xd_pool_t, xd_pool_free> handle_;
};

/* A device: a kind and an ordinal. */
struct place {
  std::int32_t kind = XD_DEVICE_CPU;
  std::int32_t ordinal = 0;

  static place parse(const std::string &text) {
    place parsed;
    detail::call(xd_device_parse, detail::text(text), &parsed.kind, &parsed.ordinal);
    return parsed;
  }
  std::string to_text() const { return detail::owned(detail::call(xd_device_to_text, kind, ordinal)); }
  friend bool operator==(const place &a, const place &b) noexcept { return a.kind == b.kind && a.ordinal == b.ordinal; }
  friend bool operator!=(const place &a, const place &b) noexcept { return !(a == b); }
};

/* A point in the work of a stream. */
class event {
 public:
  explicit event(xd_event_t *taken) noexcept : handle_(taken) {}

  bool is_done() const noexcept { return xd_event_is_done(get()); }
  void wait() const { detail::call(xd_event_wait, get()); }
  const xd_event_t *get() const noexcept { return handle_.get(); }

 private:
  detail::handle<xd_event_t, xd_event_free> handle_;
};

/* A queue of a device's work. */
class stream {
 public:
  explicit stream(xd_stream_t *taken) noexcept : handle_(taken) {}

  /* None for a device without streams. */
  static std::optional<stream> of(place where) {
    xd_stream_t *taken = detail::call(xd_stream_new, where.kind, where.ordinal);
    return taken == nullptr ? std::nullopt : std::optional<stream>(stream(taken));
  }
  event record() const { return event(detail::call(xd_stream_record, get())); }
  void wait(const event &after) const { detail::call(xd_stream_wait, get(), after.get()); }
  void synchronize() const { detail::call(xd_stream_synchronize, get()); }
  const xd_stream_t *get() const noexcept { return handle_.get(); }

 private:
  detail::handle<xd_stream_t, xd_stream_free> handle_;
};

/* Elements of one type with N axes, under a lease that the destructor releases. T is const for read-only views. */
template <class T, std::size_t N>
class view {
 public:
  view(lease held, const ssize_t *shape, const ssize_t *strides) : lease_(std::move(held)) {
    for (std::size_t axis = 0; axis < N; axis++) {
      shape_[axis] = shape[axis];
      strides_[axis] = strides[axis];
    }
    if constexpr (std::is_const_v<T>)
      first_ = static_cast<const std::byte *>(lease_.data());
    else
      first_ = static_cast<std::byte *>(lease_.mutable_data());
    if (!is_aligned())
      throw error(XD_ERROR_ALIGNMENT,
                  "an element does not lie at a multiple of the alignment of its type: copy the array");
  }

  const std::array<ssize_t, N> &shape() const noexcept { return shape_; }
  /* In bytes. */
  const std::array<ssize_t, N> &strides() const noexcept { return strides_; }

  /* The element at an index, which must be in bounds. */
  template <class... Indices>
  T &operator()(Indices... indices) const noexcept {
    static_assert(sizeof...(Indices) == N, "an index for each axis");
    ssize_t offset = 0;
    std::size_t axis = 0;
    ((offset += static_cast<ssize_t>(indices) * strides_[axis++]), ...);
    return *reinterpret_cast<T *>(first_ + offset);
  }

  /* The same, but throws XD_ERROR_BOUNDS if the index is out of bounds. */
  template <class... Indices>
  T &at(Indices... indices) const {
    static_assert(sizeof...(Indices) == N, "an index for each axis");
    std::size_t axis = 0;
    (check(static_cast<ssize_t>(indices), axis++), ...);
    return (*this)(indices...);
  }

  bool is_row_major() const noexcept {
    ssize_t expected = sizeof(T);
    bool is = true;
    for (std::size_t axis = N; axis-- > 0; expected *= shape_[axis])
      is = is && (shape_[axis] == 1 || strides_[axis] == expected);
    return is || size() == 0;
  }

  std::size_t size() const noexcept {
    std::size_t count = 1;
    for (ssize_t length : shape_)
      count *= static_cast<std::size_t>(length);
    return count;
  }

#if defined(__cpp_lib_span)
  /* All elements, which must be C-contiguous (row-major). */
  std::span<T> span() const {
    if (!is_row_major())
      throw error(XD_ERROR_LAYOUT, "the elements do not lie row-major without gaps: copy the array");
    return {reinterpret_cast<T *>(first_), size()};
  }
#endif

#if defined(XD_MDSPAN_NAMESPACE)
  /* The same elements, valid while this view lives. Throws XD_ERROR_LAYOUT for strides that mdspan does not support:
   * along axes with more than one element, they must be positive multiples of the element's size, each beyond the
   * extent of the smaller ones. (The layout is a parameter so that files with different namespaces can be linked
   * together.) */
  template <class Layout = XD_MDSPAN_NAMESPACE::layout_stride>
  auto mdspan() const {
    static_assert(std::is_same_v<Layout, XD_MDSPAN_NAMESPACE::layout_stride>, "no other layout has any strides");
    return mdspan_of<Layout>(std::make_index_sequence<N>());
  }
#endif

 private:
  using byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;

#if defined(XD_MDSPAN_NAMESPACE)
  template <class Layout, std::size_t... Axes>
  auto mdspan_of(std::index_sequence<Axes...>) const {
    using lengths = XD_MDSPAN_NAMESPACE::dextents<ssize_t, N>;
    using mapping = typename Layout::template mapping<lengths>;
    /* The array type that the implementation uses. */
    using numbers = std::decay_t<decltype(std::declval<const mapping &>().strides())>;
    const std::array<ssize_t, N> steps = element_steps();
    return XD_MDSPAN_NAMESPACE::mdspan<T, lengths, Layout>(
        reinterpret_cast<T *>(first_), mapping(lengths(shape_[Axes]...), numbers{steps[Axes]...}));
  }

  /* The strides in elements; 1 for axes without steps. */
  std::array<ssize_t, N> element_steps() const {
    constexpr ssize_t itemsize = sizeof(T);
    std::array<ssize_t, N> steps{};
    std::array<std::pair<ssize_t, ssize_t>, N> stepped{};
    std::size_t count = 0;
    for (std::size_t axis = 0; axis < N; axis++) {
      steps[axis] = 1;
      if (shape_[axis] < 2 || size() == 0)
        continue;
      if (strides_[axis] <= 0 || strides_[axis] % itemsize != 0)
        throw error(XD_ERROR_LAYOUT, "mdspan asks for strides that are positive multiples of " +
                                         std::to_string(itemsize) +
                                         " bytes, and that of axis " + std::to_string(axis) + " is " +
                                         std::to_string(strides_[axis]) + ": copy the array");
      steps[axis] = strides_[axis] / itemsize;
      stepped[count++] = {steps[axis], shape_[axis]};
    }
    /* Each must exceed the extent of the smaller ones. */
    std::sort(stepped.begin(), stepped.begin() + static_cast<std::ptrdiff_t>(count));
    for (std::size_t axis = 1; axis < count; axis++)
      if (stepped[axis].first < stepped[axis - 1].first * stepped[axis - 1].second)
        throw error(XD_ERROR_LAYOUT, "mdspan asks for strides that lead beyond what smaller ones reach, and that of " +
                                         std::to_string(stepped[axis].first * itemsize) +
                                         " bytes does not: copy the array");
    return steps;
  }
#endif

  bool is_aligned() const noexcept {
    std::uintptr_t bits = reinterpret_cast<std::uintptr_t>(first_);
    for (std::size_t axis = 0; axis < N; axis++)
      bits |= shape_[axis] > 1 ? static_cast<std::uintptr_t>(strides_[axis]) : 0;
    return bits % alignof(T) == 0 || size() == 0;
  }

  void check(ssize_t index, std::size_t axis) const {
    if (index < 0 || index >= shape_[axis])
      throw error(XD_ERROR_BOUNDS, "index " + std::to_string(index) + " is out of bounds for axis " +
                                       std::to_string(axis) + " of length " + std::to_string(shape_[axis]));
  }

  lease lease_;
  byte *first_ = nullptr;
  std::array<ssize_t, N> shape_{}, strides_{};
};

/* An n-dimensional array. It is also an object of the MemoryView protocol: object(). */
class array {
 public:
  explicit array(xd_array_t *taken) noexcept : handle_(taken) {}

  static array zeros(const dtype &dtype, const extents &shape, std::int32_t order = XD_ROW_MAJOR) {
    return array(detail::call(xd_array_zeros, dtype.get(), shape.size(), shape.data(), order));
  }
  template <class T>
  static array zeros(const extents &shape, std::int32_t order = XD_ROW_MAJOR) {
    return zeros(dtype::of<T>(), shape, order);
  }
  /* All elements have this value, which is converted and checked. */
  static array full(const dtype &dtype, const extents &shape, const xd_value &value,
                    std::int32_t order = XD_ROW_MAJOR) {
    return array(detail::call(xd_array_full, dtype.get(), shape.size(), shape.data(), &value, order));
  }
  /* The same for a number or a bool. */
  template <class T>
  static array full(const dtype &dtype, const extents &shape, T number, std::int32_t order = XD_ROW_MAJOR) {
    return full(dtype, shape, detail::value_of(number), order);
  }
  template <class T>
  static array full(const extents &shape, T number, std::int32_t order = XD_ROW_MAJOR) {
    return full(dtype::of<T>(), shape, number, order);
  }
  /* Row-major from the buffer's first byte. */
  static array from_buffer(const buffer &buffer, const dtype &dtype, const extents &shape) {
    return array(detail::call(xd_array_from_buffer, buffer.get(), dtype.get(), shape.size(), shape.data(),
                              static_cast<const ssize_t *>(nullptr), std::size_t{0}));
  }
  static array from_buffer(const buffer &buffer, const dtype &dtype, const extents &shape, const extents &strides,
                           std::size_t offset) {
    if (shape.size() != strides.size())
      throw error(XD_ERROR_SHAPE, std::to_string(shape.size()) + " lengths and " + std::to_string(strides.size()) +
                  " strides");
    return array(detail::call(xd_array_from_buffer, buffer.get(), dtype.get(), shape.size(), shape.data(),
                              strides.data(), offset));
  }
  /* A vector's elements, in place. */
  template <class T>
  static array adopt(std::vector<T> vector, const extents &shape) {
    return from_buffer(buffer::adopt(std::move(vector)), dtype::of<T>(), shape);
  }
  static array zeros(const pool &pool, const dtype &dtype, const extents &shape, std::int32_t order = XD_ROW_MAJOR) {
    return array(detail::call(xd_pool_zeros, pool.get(), dtype.get(), shape.size(), shape.data(), order));
  }
  static array open(const std::string &path) { return array(detail::call(xd_array_open, detail::text(path))); }
  static array open(const std::string &path, const xd_open_options &options) {
    return array(detail::call(xd_array_open_with, detail::text(path), &options));
  }
#ifndef _WIN32
  /* The next array of a Unix socket; none at the end of the stream. */
  static std::optional<array> receive(int socket, std::uint64_t most_nbytes = 0) {
    xd_array_t *taken = detail::call(xd_array_receive, socket, most_nbytes);
    return taken == nullptr ? std::nullopt : std::optional<array>(array(taken));
  }
#endif
  /* From any object's view, or from a DLPack tensor, which is consumed. */
  static array from_object(void *object, int flags = XD_MEMORY_VIEW_SIMPLE) {
    return array(detail::call(xd_array_from_object, object, flags));
  }
  static array from_dlpack(DLManagedTensorVersioned *tensor) {
    return array(detail::call(xd_array_from_dlpack, tensor));
  }
  /* From a column of Arrow without nulls. Both structs are consumed. */
  static array from_arrow(ArrowSchema *schema, ArrowArray *column) {
    return array(detail::call(xd_array_from_arrow, schema, column, static_cast<xd_array_t **>(nullptr)));
  }

  array clone() const { return array(detail::call(xd_array_clone, get())); }
  array readonly() const { return array(detail::call(xd_array_readonly, get())); }
  std::size_t ndim() const noexcept { return xd_array_ndim(get()); }
  extents shape() const { return list(xd_array_shape(get())); }
  extents strides() const { return list(xd_array_strides(get())); }
  crossdock::dtype dtype() const { return crossdock::dtype(detail::call(xd_dtype_clone, xd_array_dtype(get()))); }
  std::size_t size() const noexcept { return xd_array_len(get()); }
  std::size_t nbytes() const noexcept { return xd_array_nbytes(get()); }
  bool is_readonly() const noexcept { return xd_array_is_readonly(get()); }
  bool is_contiguous(std::int32_t order = XD_ROW_MAJOR) const noexcept { return xd_array_is_contiguous(get(), order); }
  std::uintptr_t address() const noexcept { return xd_array_address(get()); }

  /* Views of the same elements. */
  array at(const std::string &subscript) const {
    return array(detail::call(xd_array_at, get(), detail::text(subscript)));
  }
  array slice(std::initializer_list<xd_slice> slices) const {
    return array(detail::call(xd_array_slice, get(), slices.size(), slices.begin()));
  }
  array field(const std::string &name) const { return array(detail::call(xd_array_field, get(), detail::text(name))); }
  array transpose() const { return array(detail::call(xd_array_transpose, get())); }
  array permute(const extents &axes) const {
    return array(detail::call(xd_array_permute, get(), axes.size(), axes.data()));
  }
  array reshape(const extents &shape) const {
    return array(detail::call(xd_array_reshape, get(), shape.size(), shape.data()));
  }
  array flatten() const { return array(detail::call(xd_array_flatten, get())); }
  array reverse(std::size_t axis) const { return array(detail::call(xd_array_reverse, get(), axis)); }
  array windows(const extents &window) const {
    return array(detail::call(xd_array_windows, get(), window.size(), window.data()));
  }
  array blocks(const extents &block) const {
    return array(detail::call(xd_array_blocks, get(), block.size(), block.data()));
  }
  array broadcast_to(const extents &shape) const {
    return array(detail::call(xd_array_broadcast_to, get(), shape.size(), shape.data()));
  }
  array swap_axes(std::size_t a, std::size_t b) const { return array(detail::call(xd_array_swap_axes, get(), a, b)); }
  array move_axis(std::size_t from, std::size_t to) const {
    return array(detail::call(xd_array_move_axis, get(), from, to));
  }
  array insert_axis(std::size_t axis) const { return array(detail::call(xd_array_insert_axis, get(), axis)); }
  array drop_axis(std::size_t axis, std::size_t index) const {
    return array(detail::call(xd_array_drop_axis, get(), axis, index));
  }
  array squeeze() const { return array(detail::call(xd_array_squeeze, get())); }
  array diagonal(std::size_t first = 0, std::size_t second = 1, ssize_t offset = 0) const {
    return array(detail::call(xd_array_diagonal, get(), first, second, offset));
  }
  array view_as(const crossdock::dtype &dtype) const {
    return array(detail::call(xd_array_view_as, get(), dtype.get()));
  }

  /* Other places: devices, and other processes. */
  crossdock::place place() const noexcept { return {xd_array_device_kind(get()), xd_array_device_ordinal(get())}; }
  array to_device(crossdock::place where) const {
    return array(detail::call(xd_array_to_device, get(), where.kind, where.ordinal));
  }
  /* Returns when the copy is queued. A lease for the CPU waits for it. */
  array to_device(crossdock::place where, const stream &in) const {
    return array(detail::call(xd_array_to_device_in, get(), where.kind, where.ordinal, in.get(),
                              static_cast<xd_event_t **>(nullptr)));
  }
  array to_shared(std::int32_t order = XD_ROW_MAJOR) const {
    return array(detail::call(xd_array_to_shared, get(), order));
  }
#ifndef _WIN32
  void send(int socket, std::int32_t lease = XD_LEASE_SHARE, std::uint32_t flags = XD_EXPORT_IN_PLACE) const {
    detail::call(xd_array_send, get(), socket, lease, flags);
  }
#endif

  /* Copies, and comparisons. */
  array copy(std::int32_t order = XD_ROW_MAJOR) const { return array(detail::call(xd_array_copy, get(), order)); }
  array cast(const crossdock::dtype &dtype, std::int32_t casting = XD_CASTING_CHECKED) const {
    return array(detail::call(xd_array_cast, get(), dtype.get(), std::int32_t{XD_ROW_MAJOR}, casting));
  }
  void assign(const array &source, std::int32_t casting = XD_CASTING_CHECKED) const {
    detail::call(xd_array_assign, get(), source.get(), casting);
  }
  bool equals(const array &other) const {
    bool equal = false;
    detail::call(xd_array_equals, get(), other.get(), &equal);
    return equal;
  }
  bool all_close(const array &other, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false) const {
    bool close = false;
    detail::call(xd_array_all_close, get(), other.get(), rtol, atol, equal_nan, &close);
    return close;
  }
  /* The ending of the path names the format. */
  void save(const std::string &path) const {
    detail::call(xd_array_save, get(), detail::text(path), static_cast<const xd_save_options *>(nullptr));
  }
  void save(const std::string &path, const xd_save_options &options) const {
    detail::call(xd_array_save, get(), detail::text(path), &options);
  }

  /* One element. */
  value get(const extents &index) const {
    check_rank(index.size());
    xd_value taken;
    detail::call(xd_array_get, get(), index.data(), &taken);
    return value(taken);
  }
  void set(const extents &index, const xd_value &element) const {
    check_rank(index.size());
    detail::call(xd_array_set, get(), index.data(), &element);
  }
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  void set(const extents &index, T number) const {
    set(index, detail::value_of(number));
  }
  /* Writes one value to every element. */
  void fill(const xd_value &element) const { detail::call(xd_array_fill, get(), &element); }
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  void fill(T number) const {
    fill(detail::value_of(number));
  }

  /* All elements, typed and under a lease. Throws XD_ERROR_DTYPE for another type, and XD_ERROR_SHAPE for another
   * number of axes. */
  template <class T, std::size_t N>
  view<const T, N> read() const {
    return typed<const T, N>(XD_LEASE_READ);
  }
  template <class T, std::size_t N>
  view<T, N> write() const {
    return typed<T, N>(XD_LEASE_WRITE);
  }
  template <class T, std::size_t N>
  view<T, N> share() const {
    return typed<T, N>(XD_LEASE_SHARE);
  }
  template <class T, std::size_t N>
  view<const T, N> pin() const {
    return typed<const T, N>(XD_LEASE_PIN);
  }

  std::string text() const { return detail::owned(detail::call(xd_array_to_text, get())); }
  friend std::ostream &operator<<(std::ostream &out, const array &array) { return out << array.text(); }
  /* The protocols that export it, and the behaviour of functions of other libraries; null selects all libraries. */
  std::string explain(const char *library = nullptr) const {
    return detail::owned(detail::call(xd_array_explain, get(), library));
  }

  /* Exports. */
  DLManagedTensorVersioned *to_dlpack(std::uint32_t flags = XD_EXPORT_IN_PLACE) const {
    return detail::call(xd_array_to_dlpack, get(), flags);
  }
  /* Fills in both structs, which the caller must release. */
  void to_arrow(ArrowSchema *schema, ArrowArray *column, const char *name = nullptr,
                std::uint32_t flags = XD_EXPORT_IN_PLACE) const {
    detail::call(xd_array_to_arrow, get(), name, flags, schema, column);
  }
  void *object() const noexcept { return handle_.get(); }
  const xd_array_t *get() const noexcept { return handle_.get(); }

 private:
  extents list(const ssize_t *numbers) const { return extents(numbers, numbers + ndim()); }

  void check_rank(std::size_t count) const {
    if (count != ndim())
      throw error(XD_ERROR_SHAPE, std::to_string(count) + " indices or axes for an array of " + std::to_string(ndim()));
  }

  template <class T, std::size_t N>
  view<T, N> typed(std::int32_t kind) const {
    check_rank(N);
    const auto wanted = crossdock::dtype::of<std::remove_const_t<T>>();
    if (!xd_dtype_equals(xd_array_dtype(get()), wanted.get()))
      throw error(XD_ERROR_DTYPE, "the elements are " + dtype().text() + ", not " + wanted.text() + ": cast them");
    if (xd_array_is_indirect(get()))
      throw error(XD_ERROR_LAYOUT, "the elements are reached over tables of pointers: copy the array");
    return view<T, N>(lease(detail::call(xd_array_lease, get(), kind)), xd_array_shape(get()), xd_array_strides(get()));
  }

  detail::handle<xd_array_t, xd_array_free> handle_;
};

/* The arrays of a file. */
class contents {
 public:
  explicit contents(xd_contents_t *taken) noexcept : handle_(taken) {}

  static contents open(const std::string &path) {
    return contents(detail::call(xd_contents_open, detail::text(path), static_cast<const xd_open_options *>(nullptr)));
  }
  static contents open(const std::string &path, const xd_open_options &options) {
    return contents(detail::call(xd_contents_open, detail::text(path), &options));
  }
  std::size_t size() const noexcept { return xd_contents_len(get()); }
  std::string name(std::size_t index) const { return detail::owned(detail::call(xd_contents_name, get(), index)); }
  std::vector<std::string> names() const {
    std::vector<std::string> list;
    for (std::size_t index = 0; index < size(); index++)
      list.push_back(name(index));
    return list;
  }
  array operator[](std::size_t index) const { return array(detail::call(xd_contents_array, get(), index)); }
  array operator[](const std::string &name) const {
    return array(detail::call(xd_contents_get, get(), detail::text(name)));
  }
  const xd_contents_t *get() const noexcept { return handle_.get(); }

 private:
  detail::handle<xd_contents_t, xd_contents_free> handle_;
};

class batch;
class reader;

#ifndef _WIN32
/* Arrays and tables under names that another process of this user holds. */
class set {
 public:
  /* The newest version of a name ("m"), or one version ("m@3"). */
  static set connect(const std::string &name) { return set(detail::call(xd_set_connect, detail::text(name))); }

  std::size_t size() const noexcept { return xd_set_len(get()); }
  // Whether arrays or tables lie in mapped files, which can change.
  bool is_mapped() const noexcept { return xd_set_is_mapped(get()); }
  std::string label() const { return detail::owned(detail::call(xd_set_label, get())); }
  std::string name(std::size_t index) const { return detail::owned(detail::call(xd_set_name, get(), index)); }
  /* In place, read-only. Throws XD_ERROR_BOUNDS if there is no array of this name. */
  array operator[](const std::string &name) const { return array(detail::call(xd_set_get, get(), detail::text(name))); }
  /* Whether the name is that of a table, which reader::of_set opens. */
  bool is_table(const std::string &name) const {
    bool is_table = false;
    detail::call(xd_set_is_table, get(), detail::text(name), &is_table);
    return is_table;
  }
  const xd_set_t *get() const noexcept { return handle_.get(); }

 private:
  explicit set(xd_set_t *taken) noexcept : handle_(taken) {}

  detail::handle<xd_set_t, xd_set_free> handle_;
};

/* A slot of a channel as an array to fill. The destructor gives it back, unless it was sent. */
class loan {
 public:
  explicit loan(xd_loan_t *taken) noexcept : handle_(taken) {}

  class array array() const { return crossdock::array(detail::call(xd_loan_array, handle_.get())); }
  /* Throws XD_ERROR_CONFLICT while there are handles, views or leases of the array. */
  void send() { detail::call(xd_loan_send, handle_.get()); }

 private:
  detail::handle<xd_loan_t, xd_loan_free> handle_;
};

/* The end of a channel that sends. Timeouts are in milliseconds. */
class sender {
 public:
  explicit sender(xd_sender_t *taken) noexcept : handle_(taken) {}

  /* Throws XD_ERROR_EXHAUSTED if no slot became free in time. */
  void send(const array &copied, std::int64_t timeout_ms = XD_FOREVER) const {
    detail::call(xd_sender_send, handle_.get(), copied.get(), timeout_ms);
  }
  /* Batches with one schema, as one table. */
  void send(const std::vector<batch> &copied, std::int64_t timeout_ms = XD_FOREVER) const;
  template <class T>
  class loan loan(const extents &shape, std::int64_t timeout_ms = XD_FOREVER) const {
    return crossdock::loan(
        detail::call(xd_sender_loan, handle_.get(), dtype::of<T>().get(), shape.size(), shape.data(), timeout_ms));
  }

 private:
  detail::handle<xd_sender_t, xd_sender_free> handle_;
};

/* The end of a channel that receives. */
class receiver {
 public:
  explicit receiver(xd_receiver_t *taken) noexcept : handle_(taken) {}

  /* In place, read-only. Nothing if no message came in time; throws XD_ERROR_CLOSED after the last message. */
  std::optional<array> receive(std::int64_t timeout_ms = XD_FOREVER) const {
    xd_array_t *found = detail::call(xd_receiver_receive, handle_.get(), timeout_ms);
    return found == nullptr ? std::nullopt : std::optional<array>(array(found));
  }
  /* The same for a table, as a reader of its batches. Throws XD_ERROR_UNSUPPORTED for an array, which
   * is then dropped. */
  std::optional<reader> receive_table(std::int64_t timeout_ms = XD_FOREVER) const;
  std::uint64_t missed() const noexcept { return xd_receiver_missed(handle_.get()); }

 private:
  detail::handle<xd_receiver_t, xd_receiver_free> handle_;
};

/* A stream of arrays between processes. */
class channel {
 public:
  channel(std::size_t slots, std::size_t slot_nbytes, std::int32_t delivery = XD_DELIVERY_EACH,
          bool drop_oldest = false, const std::string &name = "")
      : handle_(detail::call(xd_channel_new, detail::text(name), slots, slot_nbytes, delivery, drop_oldest)) {}
  static channel open(int fd) { return channel(detail::call(xd_channel_open, fd)); }

  class sender sender() const { return crossdock::sender(detail::call(xd_sender_new, get())); }
  class receiver receiver() const { return crossdock::receiver(detail::call(xd_receiver_new, get())); }
  void close() const noexcept { xd_channel_close(get()); }
  /* Belongs to the channel. */
  int fd() const {
    int found = -1;
    detail::call(xd_channel_fd, get(), &found);
    return found;
  }
  std::uint64_t sent() const noexcept { return xd_channel_sent(get()); }
  const xd_channel_t *get() const noexcept { return handle_.get(); }

 private:
  explicit channel(xd_channel_t *taken) noexcept : handle_(taken) {}

  detail::handle<xd_channel_t, xd_channel_free> handle_;
};
#endif

/* What the columns of a batch or a reader are. */
class schema {
 public:
  explicit schema(xd_schema_t *taken) noexcept : handle_(taken) {}

  std::size_t size() const noexcept { return xd_schema_len(get()); }
  std::string name(std::size_t index) const { return text(xd_schema_name(get(), index), index); }
  /* As Arrow's format string, and as pyarrow names it. */
  std::string format(std::size_t index) const { return text(xd_schema_format(get(), index), index); }
  std::string type(std::size_t index) const { return text(xd_schema_type(get(), index), index); }
  bool is_nullable(std::size_t index) const noexcept { return xd_schema_is_nullable(get(), index); }
  std::optional<std::size_t> index(const std::string &name) const {
    const ssize_t found = detail::call(xd_schema_index, get(), detail::text(name));
    return found < 0 ? std::nullopt : std::optional<std::size_t>(static_cast<std::size_t>(found));
  }
  const xd_schema_t *get() const noexcept { return handle_.get(); }

 private:
  std::string text(const char *found, std::size_t index) const {
    if (found == nullptr)
      throw error(XD_ERROR_BOUNDS, "column " + std::to_string(index) + " is out of bounds for " +
                  std::to_string(size()) + " columns");
    return found;
  }

  detail::handle<xd_schema_t, xd_schema_free> handle_;
};

/* The text or bytes of a column, in place, under a read lease that the destructor releases. */
class text {
 public:
  explicit text(xd_text_t *taken) noexcept : handle_(taken) {}

  std::size_t size() const noexcept { return xd_text_len(handle_.get()); }
  /* In place, valid while this object lives; nothing for a null. */
  std::optional<std::string_view> operator[](std::size_t index) const {
    const char *data = nullptr;
    std::size_t len = 0;
    detail::call(xd_text_get, handle_.get(), index, &data, &len);
    return data == nullptr ? std::nullopt : std::optional<std::string_view>(std::string_view(data, len));
  }

 private:
  detail::handle<xd_text_t, xd_text_free> handle_;
};

/* Elements of any type that Arrow describes, some of them null, with a name. */
class column {
 public:
  explicit column(xd_column_t *taken) noexcept : handle_(taken) {}

  /* In place; the array has one contiguous axis. */
  static column from_array(const array &array, const std::string &name) {
    return column(detail::call(xd_column_from_array, array.get(), detail::text(name)));
  }
  /* Consumes both structs. */
  static column from_arrow(ArrowSchema *schema, ArrowArray *array, std::int32_t checks = XD_CHECKS_SHAPE) {
    return column(detail::call(xd_column_from_arrow, schema, array, checks));
  }
  /* Fills in both structs, which the consumer releases. */
  void to_arrow(ArrowSchema *schema, ArrowArray *array) const {
    detail::call(xd_column_to_arrow, get(), schema, array);
  }

  column clone() const { return column(detail::call(xd_column_clone, get())); }
  std::size_t size() const noexcept { return xd_column_len(get()); }
  std::string name() const { return known(xd_column_name(get())); }
  std::string format() const { return known(xd_column_format(get())); }
  std::string type() const { return known(xd_column_type(get())); }
  std::size_t null_count() const {
    std::size_t count = 0;
    detail::call(xd_column_null_count, get(), &count);
    return count;
  }

  /* In place. Throws XD_ERROR_VALUE if elements are null. */
  crossdock::array array() const {
    return crossdock::array(detail::call(xd_column_array, get(), static_cast<xd_array_t **>(nullptr)));
  }
  crossdock::text text() const { return crossdock::text(detail::call(xd_column_text, get())); }
  column slice(std::size_t start, std::size_t len) const {
    return column(detail::call(xd_column_slice, get(), start, len));
  }
  column compact() const { return column(detail::call(xd_column_compact, get())); }
  value operator[](std::size_t index) const {
    xd_value taken;
    detail::call(xd_column_get, get(), index, &taken);
    return value(taken);
  }
  friend std::ostream &operator<<(std::ostream &out, const column &column) {
    return out << detail::owned(detail::call(xd_column_to_text, column.get()));
  }
  const xd_column_t *get() const noexcept { return handle_.get(); }

 private:
  static std::string known(const char *found) { return found == nullptr ? std::string() : std::string(found); }

  detail::handle<xd_column_t, xd_column_free> handle_;
};

/* Columns of equal length. */
class batch {
 public:
  explicit batch(xd_batch_t *taken) noexcept : handle_(taken) {}

  static batch from_columns(const std::vector<column> &columns) {
    std::vector<const xd_column_t *> list;
    for (const column &column : columns)
      list.push_back(column.get());
    return batch(detail::call(xd_batch_from_columns, list.size(),
                              static_cast<const xd_column_t *const *>(list.data())));
  }
  /* Consumes both structs. */
  static batch from_arrow(ArrowSchema *schema, ArrowArray *array, std::int32_t checks = XD_CHECKS_SHAPE) {
    return batch(detail::call(xd_batch_from_arrow, schema, array, checks));
  }
  /* Fills in both structs, which the consumer releases. */
  void to_arrow(ArrowSchema *schema, ArrowArray *array) const { detail::call(xd_batch_to_arrow, get(), schema, array); }

  batch clone() const { return batch(detail::call(xd_batch_clone, get())); }
  std::size_t rows() const noexcept { return xd_batch_len(get()); }
  std::size_t columns() const noexcept { return xd_batch_column_count(get()); }
  crossdock::schema schema() const { return crossdock::schema(detail::call(xd_batch_schema, get())); }
  column operator[](std::size_t index) const { return column(detail::call(xd_batch_column, get(), index)); }
  column operator[](const std::string &name) const {
    return column(detail::call(xd_batch_column_named, get(), detail::text(name)));
  }
  batch slice(std::size_t start, std::size_t len) const {
    return batch(detail::call(xd_batch_slice, get(), start, len));
  }
  batch select(const std::vector<std::size_t> &indices) const {
    return batch(detail::call(xd_batch_select, get(), indices.size(), indices.data()));
  }
  /* Copies. */
  array records() const { return array(detail::call(xd_batch_to_records, get())); }
  friend std::ostream &operator<<(std::ostream &out, const batch &batch) {
    return out << detail::owned(detail::call(xd_batch_to_text, batch.get()));
  }
  const xd_batch_t *get() const noexcept { return handle_.get(); }

 private:
  detail::handle<xd_batch_t, xd_batch_free> handle_;
};

/* A sequence of batches, one at a time. */
class reader {
 public:
  explicit reader(xd_reader_t *taken) noexcept : handle_(taken) {}

  static reader from_batches(const std::vector<batch> &batches) {
    std::vector<const xd_batch_t *> list;
    for (const batch &batch : batches)
      list.push_back(batch.get());
    return reader(detail::call(xd_reader_from_batches, list.size(),
                               static_cast<const xd_batch_t *const *>(list.data())));
  }
  /* Of an Arrow IPC file. */
  static reader open(const std::string &path, const xd_open_options &options = {}) {
    return reader(detail::call(xd_reader_open, detail::text(path), &options));
  }
#ifndef _WIN32
  /* The table in a message of a channel, in place; `nullopt` if the message is an array. */
  static std::optional<reader> of_message(const array &message) {
    xd_reader_t *found = detail::call(xd_reader_from_message, message.get());
    return found == nullptr ? std::nullopt : std::optional<reader>(reader(found));
  }
  /* Of a table of a set, in place. */
  static reader of_set(const set &set, const std::string &name) {
    return reader(detail::call(xd_set_table, set.get(), detail::text(name)));
  }
#endif
  /* Consumes the struct. */
  static reader from_arrow(ArrowArrayStream *stream, std::int32_t checks = XD_CHECKS_SHAPE) {
    return reader(detail::call(xd_reader_from_arrow, stream, checks));
  }
  /* Writes the remaining batches to an Arrow IPC file. */
  void save(const std::string &path, std::int32_t compression = XD_COMPRESSION_NONE) const {
    detail::call(xd_reader_save, handle_.get(), detail::text(path), compression);
  }
  /* Fills in the struct, which the consumer releases. The reader has no more batches. */
  void to_arrow(ArrowArrayStream *stream) const { detail::call(xd_reader_to_arrow, handle_.get(), stream); }

  crossdock::schema schema() const { return crossdock::schema(detail::call(xd_reader_schema, handle_.get())); }
  /* Nothing after the last batch. */
  std::optional<batch> next() const {
    xd_batch_t *found = detail::call(xd_reader_next, handle_.get());
    return found == nullptr ? std::nullopt : std::optional<batch>(batch(found));
  }

 private:
  detail::handle<xd_reader_t, xd_reader_free> handle_;
};

#ifndef _WIN32
inline void sender::send(const std::vector<batch> &copied, std::int64_t timeout_ms) const {
  std::vector<const xd_batch_t *> list;
  for (const batch &batch : copied)
    list.push_back(batch.get());
  detail::call(xd_sender_send_table, handle_.get(), list.size(), static_cast<const xd_batch_t *const *>(list.data()),
               timeout_ms);
}

inline std::optional<reader> receiver::receive_table(std::int64_t timeout_ms) const {
  xd_reader_t *found = detail::call(xd_receiver_receive_table, handle_.get(), timeout_ms);
  return found == nullptr ? std::nullopt : std::optional<reader>(reader(found));
}
#endif

/* A view of any object, which the destructor releases. Throws XD_ERROR_REFUSED with the reason if there is none. */
class memory_view {
 public:
  explicit memory_view(void *object, int flags = XD_MEMORY_VIEW_SIMPLE) {
    std::memset(&held_, 0, sizeof held_);
    if (!xd_memory_view_get(object, &held_, flags))
      throw error(XD_ERROR_REFUSED, xd_last_refusal());
  }
  memory_view(memory_view &&other) noexcept : held_(other.held_) { std::memset(&other.held_, 0, sizeof held_); }
  memory_view &operator=(memory_view &&other) noexcept {
    std::swap(held_, other.held_);
    return *this;
  }
  ~memory_view() {
    if (held_.reserved != nullptr)
      xd_memory_view_release(&held_);
  }

  const xd_memory_view_t *operator->() const noexcept { return &held_; }
  const xd_memory_view_t &get() const noexcept { return held_; }

  /* Throws XD_ERROR_BOUNDS if the index is out of bounds. */
  template <class... Indices>
  value item(Indices... indices) const {
    const std::array<ssize_t, sizeof...(Indices)> index{static_cast<ssize_t>(indices)...};
    if (static_cast<ssize_t>(index.size()) != held_.ndim)
      throw error(XD_ERROR_SHAPE, std::to_string(index.size()) + " indices for " + std::to_string(held_.ndim) +
                  " axes");
    if (xd_memory_view_get_item_pointer(&held_, index.data()) == nullptr)
      throw error(XD_ERROR_BOUNDS, xd_last_refusal());
    return value(xd_memory_view_get_item(&held_, index.data()));
  }

  template <class... Indices>
  void set_item(const xd_value &number, Indices... indices) const {
    const std::array<ssize_t, sizeof...(Indices)> index{static_cast<ssize_t>(indices)...};
    if (static_cast<ssize_t>(index.size()) != held_.ndim)
      throw error(XD_ERROR_SHAPE, std::to_string(index.size()) + " indices for " + std::to_string(held_.ndim) +
                  " axes");
    detail::call(xd_memory_view_set_item, &get(), index.data(), &number);
  }

 private:
  xd_memory_view_t held_;
};

}  // namespace crossdock

#endif
