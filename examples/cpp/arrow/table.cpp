// Exchanges a table with Arrow's C++ library in both directions, with text, nulls and a dictionary: reads a stream of Arrow's
// batches, slices one, and returns it to Arrow. Nothing is copied: the text that Crossdock reads lies where Arrow put it.
//
// Arrow's headers require C++20. The wheel of pyarrow contains its library: pyarrow.get_include(), pyarrow.get_library_dirs().
//
//   c++ -std=c++20 table.cpp $(pkg-config --cflags --libs crossdock arrow)

#include <crossdock.hpp>

#include <arrow/api.h>
#include <arrow/c/bridge.h>

#include <cstdlib>
#include <iostream>

namespace xd = crossdock;

static void check(bool is, const char *what) {
  if (!is) {
    std::cerr << "not so: " << what << "\n";
    std::exit(1);
  }
}

static void must(const arrow::Status &status) { check(status.ok(), status.ToString().c_str()); }

template <class T>
static T must(arrow::Result<T> result) {
  must(result.status());
  return std::move(result).ValueUnsafe();
}

// Three rows: names with a null, colours from a dictionary, numbers.
static std::shared_ptr<arrow::RecordBatch> parts() {
  arrow::StringBuilder names;
  must(names.Append("bolt"));
  must(names.AppendNull());
  must(names.Append("washer"));
  arrow::StringDictionary32Builder colours;
  for (const char *colour : {"red", "blue", "red"})
    must(colours.Append(colour));
  arrow::Int64Builder counts;
  must(counts.AppendValues({7, 8, 9}));
  const arrow::ArrayVector columns{must(names.Finish()), must(colours.Finish()), must(counts.Finish())};
  const auto schema = arrow::schema({arrow::field("name", columns[0]->type()), arrow::field("colour", columns[1]->type()),
                                     arrow::field("count", columns[2]->type(), false)});
  return arrow::RecordBatch::Make(schema, 3, columns);
}

int main() {
  const std::uint64_t copied = xd_copied_bytes();
  const std::shared_ptr<arrow::RecordBatch> original = parts();
  ArrowArrayStream stream;
  must(arrow::ExportRecordBatchReader(must(arrow::RecordBatchReader::Make({original, original})), &stream));

  const xd::reader reader = xd::reader::from_arrow(&stream);
  check(reader.schema().format(0) == "u" && !reader.schema().is_nullable(2), "the schema is Arrow's");
  const xd::batch batch = reader.next()->slice(1, 2);
  {
    const xd::text names = batch["name"].text();
    const auto &array = static_cast<const arrow::StringArray &>(*original->column(0));
    check(!names[0].has_value() && *names[1] == "washer", "a null, and a text");
    check(names[1]->data() == array.GetView(2).data(), "the text lies where Arrow put it");
    const auto *numbers = static_cast<const arrow::Int64Array &>(*original->column(2)).raw_values();
    check(batch["count"].array().address() == reinterpret_cast<std::uintptr_t>(numbers + 1), "so do the numbers");
  }
  std::cout << batch << "\n";

  ArrowSchema schema;
  ArrowArray array;
  batch.to_arrow(&schema, &array);
  const std::shared_ptr<arrow::RecordBatch> back = must(arrow::ImportRecordBatch(&array, &schema));
  must(back->ValidateFull());
  check(back->Equals(*original->Slice(1, 2)), "Arrow gets its rows back");

  // The rest of the stream, as a stream that Arrow reads.
  ArrowArrayStream rest;
  reader.to_arrow(&rest);
  const auto table = must(must(arrow::ImportRecordBatchReader(&rest))->ToTable());
  check(table->num_rows() == 3 && xd_copied_bytes() == copied, "one batch was left, and nothing was copied");
  return 0;
}
