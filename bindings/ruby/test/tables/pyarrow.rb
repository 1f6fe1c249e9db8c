# frozen_string_literal: true

# Tables between Ruby and pyarrow in one process, by the address of a struct: Python's library is
# loaded into this program. Ends with status 77 if there is no pyarrow, and 78 if there is no such
# library.

require "bigdecimal"
require "crossdock"
require "date"
require "fiddle"
require "open3"
require "tmpdir"

QUESTION = <<~PYTHON
  import os, sys, sysconfig
  import pyarrow
  folder, name, machine = map(sysconfig.get_config_var, ["LIBDIR", "INSTSONAME", "MULTIARCH"])
  paths = [os.path.join(folder, name), os.path.join(folder, machine or "", name)]
  print(next(filter(os.path.isfile, paths), ""))
  print(os.pathsep.join(path for path in sys.path if path))
PYTHON

answer, status = Open3.capture2e(ARGV.fetch(0), "-c", QUESTION)
library, paths = answer.lines.map(&:chomp)
unless status.success?
  puts "#{ARGV[0]} has no pyarrow: #{answer.lines.last}"
  exit 77
end
if library.empty? || !library.include?(".so")
  puts "#{ARGV[0]} has no shared library"
  exit 78
end
ENV["PYTHONPATH"] = paths

PYTHON = Fiddle::Handle.new(library, Fiddle::RTLD_LAZY | Fiddle::RTLD_GLOBAL)
Fiddle::Function.new(PYTHON["Py_InitializeEx"], [Fiddle::TYPE_INT], Fiddle::TYPE_VOID).call(0)
RUN = Fiddle::Function.new(PYTHON["PyRun_SimpleString"], [Fiddle::TYPE_VOIDP], Fiddle::TYPE_INT)

def python(text)
  RUN.call(text).zero? or abort "Python failed"
end

def check(expected, got)
  expected == got or abort "#{expected.inspect} was expected, and not #{got.inspect} (#{caller(1..1).first})"
end

# The result of a Python expression that is an integer.
def number(expression)
  place = Fiddle::Pointer.malloc(8, Fiddle::RUBY_FREE)
  python("import ctypes\nctypes.c_int64.from_address(#{place.to_i}).value = #{expression}\n")
  place[0, 8].unpack1("q")
end

python(<<~PYTHON)
  import datetime as dt, decimal
  import pyarrow as pa
  D, day = decimal.Decimal, dt.date
  moments = [dt.datetime(2024, 2, 29, 12, 30, 15, 123456), None, dt.datetime(1969, 12, 31, 23, 59, 59)]
  columns = {
      'text': pa.array(['bolt', None, 'wäsher']),
      'large': pa.array(['bolt', None, ''], pa.large_string()),
      'view': pa.array(['a text of more than twelve bytes', None, 'b'], pa.string_view()),
      'bytes': pa.array([b'\\xff', None, b''], pa.binary()),
      'fixed': pa.array([b'ab', None, b'cd'], pa.binary(2)),
      'int8': pa.array([1, None, -1], pa.int8()),
      'double': pa.array([0.25, 0.5, 0.125]),
      'half': pa.array([0.5, None, 1.5], pa.float16()),
      'bool': pa.array([True, None, False]),
      'date32': pa.array([day(2024, 2, 29), None, day(1, 1, 1)], pa.date32()),
      'date64': pa.array([day(2024, 2, 29), None, day(1969, 12, 31)], pa.date64()),
      'naive': pa.array(moments, pa.timestamp('us')),
      'berlin': pa.array(moments, pa.timestamp('ns', 'Europe/Berlin')),
      'offset': pa.array(moments, pa.timestamp('s', '+02:00')),
      'duration': pa.array([dt.timedelta(seconds=1), None, dt.timedelta(0)], pa.duration('ms')),
      'time': pa.array([dt.time(1), None, dt.time(0)], pa.time32('s')),
      'decimal': pa.array([D('12.50'), None, D('-0.01')], pa.decimal128(10, 2)),
      'wide': pa.array([D('12.50'), None, D('-1e30')], pa.decimal256(60, 2)),
      'list': pa.array([[1, None], None, []], pa.list_(pa.int32())),
      'pairs': pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int8(), 2)),
      'struct': pa.array([{'x': 1, 'y': 'a'}, None, {'x': None, 'y': None}], pa.struct({'x': pa.int8(), 'y': pa.string()})),
      'map': pa.array([[('a', 1)], None, []], pa.map_(pa.string(), pa.int8())),
      'dictionary': pa.array(['a', None, 'a']).dictionary_encode(),
      'runs': pa.RunEndEncodedArray.from_arrays([2, 3], ['a', None]),
      'null': pa.nulls(3),
  }
  table = pa.table(columns)
  three = pa.concat_tables([table, table.slice(1), table.slice(2, 0)])
PYTHON

ALL = {
  "text" => ["bolt", nil, "wäsher"],
  "large" => ["bolt", nil, ""],
  "view" => ["a text of more than twelve bytes", nil, "b"],
  "bytes" => ["\xff".b, nil, "".b],
  "fixed" => ["ab".b, nil, "cd".b],
  "int8" => [1, nil, -1],
  "double" => [0.25, 0.5, 0.125],
  "half" => [0.5, nil, 1.5],
  "bool" => [true, nil, false],
  "date32" => [Date.new(2024, 2, 29), nil, Date.new(1, 1, 1, Date::GREGORIAN)],
  "date64" => [Date.new(2024, 2, 29), nil, Date.new(1969, 12, 31)],
  "naive" => [Time.utc(2024, 2, 29, 12, 30, 15, 123_456), nil, Time.utc(1969, 12, 31, 23, 59, 59)],
  "berlin" => [Time.utc(2024, 2, 29, 12, 30, 15, 123_456), nil, Time.utc(1969, 12, 31, 23, 59, 59)],
  "offset" => [Time.new(2024, 2, 29, 14, 30, 15, "+02:00"), nil, Time.new(1970, 1, 1, 1, 59, 59, "+02:00")],
  "duration" => [1000, nil, 0],
  "time" => [3600, nil, 0],
  "decimal" => [BigDecimal("12.50"), nil, BigDecimal("-0.01")],
  "wide" => [BigDecimal("12.50"), nil, BigDecimal("-1e30")],
  "list" => [[1, nil], nil, []],
  "pairs" => [[1, 2], nil, [3, 4]],
  "struct" => [{ "x" => 1, "y" => "a" }, nil, { "x" => nil, "y" => nil }],
  "map" => [[["a", 1]], nil, []],
  "dictionary" => ["a", nil, "a"],
  "runs" => ["a", "a", nil],
  "null" => [nil, nil, nil]
}.freeze

# From pyarrow: all batches, in place.
stream = Fiddle::Pointer.malloc(40, Fiddle::RUBY_FREE)
python("three.to_reader()._export_to_c(#{stream.to_i})")
table = Crossdock::Table.from_arrow(stream)
check ALL.keys, table.names
check [3, 2], table.batches.map(&:size).first(2)
before = Crossdock.copied_bytes
ALL.each do |name, values|
  check values + values.drop(1), table[name].to_a
  check values, table.batches.first[name].to_a
  check values, 3.times.map { |row| table[name][row] }
end
check 7200, table["offset"][0].utc_offset
check ALL.transform_values(&:first), table[0]
check number("table['double'].chunk(0).buffers()[1].address"), table.batches.first["double"].array.address
check before, Crossdock.copied_bytes
table.to_s.include?("wäsher") or abort table.to_s

# Back to pyarrow, which checks every offset, and compares.
exported = table[1..].to_arrow_c_stream
python(<<~PYTHON)
  back = pa.RecordBatchReader._import_from_c(#{exported.address}).read_all()
  back.validate(full=True)
  assert back.equals(three.slice(1)), back
  assert back['double'].chunk(0).buffers()[1].address == table['double'].chunk(0).buffers()[1].address
  del back
PYTHON
check true, exported.released?
column = table.batches.first["list"].to_arrow_c_array
python("assert pa.Array._import_from_c(#{column.array}, #{column.schema}).equals(columns['list'])")

# Of Ruby's values, to pyarrow.
made = Crossdock.table("name" => ["bolt", nil], "on" => [Date.new(2024, 2, 29), nil], "at" => [Time.utc(2024, 2, 29), nil], "ok" => [nil, true])
exported = made.to_arrow_c_stream
python(<<~PYTHON)
  back = pa.RecordBatchReader._import_from_c(#{exported.address}).read_all()
  back.validate(full=True)
  assert back.to_pylist() == [
      {'name': 'bolt', 'on': day(2024, 2, 29), 'at': dt.datetime(2024, 2, 29, tzinfo=dt.timezone.utc), 'ok': None},
      {'name': None, 'on': None, 'at': None, 'ok': True},
  ], back.to_pylist()
PYTHON
# From files: mapped, and compressed.
Dir.mktmpdir do |folder|
  plain, packed = File.join(folder, "parts.arrow"), File.join(folder, "packed.feather")
  python(<<~PYTHON)
    import pyarrow.ipc as ipc
    for path, compression in (#{plain.inspect}, None), (#{packed.inspect}, 'zstd'):
        with ipc.new_file(path, three.schema, options=ipc.IpcWriteOptions(compression=compression)) as file:
            file.write_table(three)
  PYTHON
  [plain, packed].each do |path|
    opened = Crossdock.open(path)
    ALL.each { |name, values| check values + values.drop(1), opened[name].to_a }
  end
  before = Crossdock.copied_bytes
  mapped = Crossdock.open(plain, constant: true)
  exported = mapped.to_arrow_c_stream
  python("back = pa.RecordBatchReader._import_from_c(#{exported.address}).read_all()\nassert back.equals(three)\n")
  check mapped.batches.first["double"].array.address, number("back['double'].chunk(0).buffers()[1].address")
  check before, Crossdock.copied_bytes
  python("del back")
  begin
    Crossdock.open(plain).to_arrow_c_stream
    abort "a file that others may write was lent as constant"
  rescue Crossdock::Refusal => error
    error.message.include?("text") or abort error.message
  end
  check [3, ALL.size], [Crossdock.open(plain) { |table| table.batches.first.size }, mapped.names.size]
  saved = File.join(folder, "saved.arrow")
  table.save(saved, compress: :lz4)
  python("assert ipc.open_file(#{saved.inspect}).read_all().equals(three)")
  damaged = File.join(folder, "damaged.arrow")
  File.write(damaged, "ARROW1\0\0 and no more")
  begin
    Crossdock.open(damaged)
    abort "damage was not seen"
  rescue StandardError => error
    error.message.include?("damaged.arrow") or abort error.message
  end
end
puts "#{ALL.size} columns both ways"
