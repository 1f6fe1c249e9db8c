// A C++ class lends its memory by DLPack and Arrow, with crossdock_producer.h alone: a shared
// pointer keeps the samples until the last consumer is done. The consumer is Crossdock, in `main`.
#include <crossdock_producer.h>
#include <memory>
#include <stdexcept>
#include <vector>

class recording {
  using owner = std::shared_ptr<std::vector<float>>;

  std::int64_t shape_[2];
  owner samples_;

  // Lends the samples by one export, which owns a shared pointer of its own.
  template <class Export> auto exported(Export &&run) const {
    auto keeper = std::make_unique<owner>(samples_);
    xdp_memory memory = xdp_describe(samples_->data(), XDP_FLOAT32, 2, shape_);
    memory.owner = keeper.get();
    memory.release = [](void *kept) { delete static_cast<owner *>(kept); };
    xdp_error error;
    auto result = run(memory, &error);
    if (!result)
      throw std::runtime_error(error.message);
    (void)keeper.release(); // now the export's
    return result;
  }

public:
  recording(std::int64_t channels, std::int64_t length)
    : shape_{channels, length}, samples_(std::make_shared<std::vector<float>>(channels * length)) {}

  std::vector<float> &samples() { return *samples_; }

  DLManagedTensorVersioned *to_dlpack() const {
    return exported([](const xdp_memory &memory, xdp_error *error) { return xdp_to_dlpack(&memory, error); });
  }

  void to_arrow(ArrowSchema *schema, ArrowArray *array) const {
    exported([&](const xdp_memory &memory, xdp_error *error) { return xdp_to_arrow(&memory, "samples", schema, array, error); });
  }
};

#include <crossdock.hpp>
#include <iostream>

int main() {
  std::uintptr_t address = 0;
  crossdock::array matrix = [&] {
    recording music(2, 3);
    music.samples() = {1, 2, 3, 4, 5, 6};
    address = reinterpret_cast<std::uintptr_t>(music.samples().data());
    return crossdock::array::from_dlpack(music.to_dlpack());
  }(); // the array keeps the samples, after the recording has ended
  std::cout << matrix << '\n';

  recording noise(2, 2);
  noise.samples() = {7, 7, 7, 8};
  ArrowSchema schema;
  ArrowArray column;
  noise.to_arrow(&schema, &column);
  crossdock::array rows = crossdock::column::from_arrow(&schema, &column).array();
  bool in_place = matrix.address() == address && rows.address() == reinterpret_cast<std::uintptr_t>(noise.samples().data());
  std::cout << rows << '\n' << (in_place ? "in place\n" : "copied\n");
  return in_place ? 0 : 1;
}
