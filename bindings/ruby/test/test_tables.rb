# frozen_string_literal: true

require_relative "helper"
require "bigdecimal"
require "date"
require "fiddle"
require "open3"
require "pathname"
require "rbconfig"
require "set"
require "tmpdir"

# Columns and tables: of Ruby's values, of arrays, and by Arrow's C stream.
class TestTables < Test::Unit::TestCase
  include Helper

  # A stream of Arrow's whose functions are written in Ruby: tables of one batch each, or an
  # exception, or a number of the system.
  class Stream
    # Functions may be called late, and belong to it.
    ALL = []

    attr_reader :calls

    def initialize(schema, *answers, message: nil)
      @calls, @kept = [], []
      functions = [
        function(2) { |_, out| fill(out, schema.to_arrow_c_array, :schema, 72, 56) },
        function(2) { |_, out| following(answers, out) },
        function(1) { |_| message ? pointer("#{message}\0").to_i : 0 },
        function(1, Fiddle::TYPE_VOID) { |stream| Fiddle::Pointer.new(stream)[24, 8] = "\0" * 8 }
      ]
      @stream = pointer([*functions, 0].pack("Q5"))
      ALL << self
    end

    def to_arrow_c_stream
      @stream
    end

    private

    def following(answers, out)
      case answer = answers.shift
      when nil then Fiddle::Pointer.new(out)[0, 80] = "\0" * 80
      when Integer then return answer
      when Exception then raise answer
      else fill(out, answer.to_arrow_c_array, :array, 80, 64)
      end
      0
    end

    # Moves a struct: its bytes, and the mark.
    def fill(out, column, which, nbytes, release)
      source = Fiddle::Pointer.new(column.public_send(which))
      Fiddle::Pointer.new(out)[0, nbytes] = source[0, nbytes]
      source[release, 8] = "\0" * 8
      0
    end

    def function(count, result = Fiddle::TYPE_VOIDP, &body)
      calls = @calls
      closure = Class.new(Fiddle::Closure) do
        define_method(:call) do |*arguments|
          calls << count
          body.call(*arguments)
        end
      end
      @kept << closure.new(result == Fiddle::TYPE_VOID ? result : Fiddle::TYPE_LONG, [Fiddle::TYPE_VOIDP] * count)
      @kept.last.to_i
    end

    def pointer(bytes)
      @kept << Fiddle::Pointer.malloc(bytes.bytesize, Fiddle::RUBY_FREE)
      @kept.last[0, bytes.bytesize] = bytes
      @kept.last
    end
  end

  PRICES = [0.25, 0.5, 0.125].freeze

  def parts(prices = Crossdock::Array.new(PRICES))
    Crossdock.table("name" => ["bolt", nil, "wäsher"], price: prices)
  end

  def test_values_of_ruby_come_back
    moment = Time.at(1_700_000_000, 123_456_789, :nsec).utc
    {
      "string" => ["bolt", nil, "", "wäsher"],
      "binary" => ["a\xff".b, nil, "\0".b],
      "bool" => [true, nil, false] * 7,
      "int64" => [1, nil, -(2**63)],
      "uint64" => [2**64 - 1, nil],
      "float64" => [0.5, nil, -0.0],
      "date32[day]" => [Date.new(2024, 2, 29), nil, Date.new(1, 1, 1, Date::GREGORIAN), Date.new(1969, 12, 31)],
      "timestamp[ns, tz=UTC]" => [moment, nil, Time.at(-1, 1, :nsec).utc],
      "null" => [nil, nil]
    }.each do |type, values|
      column = Crossdock.column(values)
      assert_equal [type, values, values.count(nil), values.size], [column.type, column.to_a, column.null_count, column.size]
      assert_equal values[1..], column[1..].to_a
      assert_equal values, values.each_index.map { |index| column[index] }
      assert_equal values, column.each.to_a
      assert_equal values[-1], column[-1]
      assert_equal values, Crossdock::Column.from_arrow(column).to_a
    end
    assert_equal "0001-01-01", Crossdock.column([Date.new(1, 1, 1, Date::GREGORIAN)])[0].to_s
    assert_equal ["null", []], [Crossdock.column([]).type, Crossdock.column([]).to_a]
    [[1, "a"], ["a", 1], [true, 1], [Date.new(2024, 1, 1), 5], [Time.now, 5], [[1], [2]], [Object.new]].each do |mixed|
      assert_match(/element \d of the column is an instance of/, message_of(TypeError) { Crossdock.column(mixed) }, mixed.inspect)
    end
    assert_raise(EncodingError) { Crossdock.column(["\xff"]) }
  end

  def test_no_part_of_a_moment_is_lost
    moment = DateTime.new(2024, 1, 2, 3, 4, Rational(11, 2))
    assert_equal [moment.to_time, nil], Crossdock.column([moment, nil]).to_a
    assert_raise(RangeError) { Crossdock.column([Time.at(Rational(1, 3))]) }
    assert_raise(TypeError) { Crossdock.column([Date.new(2024, 1, 1), moment]) }
  end

  def test_columns_of_arrays_are_in_place
    prices = Crossdock::Array.new(PRICES)
    table = parts(prices)
    assert_equal prices.address, table["price"].array.address
    assert_equal prices.address + 8, table[1..]["price"].array.address
    assert_equal prices.address + 16, table["price"][2, 1].array.address
    before = Crossdock.copied_bytes
    table[0..1][%w[price name]].rename("name" => :who).to_arrow_c_stream.release
    assert_equal before, Crossdock.copied_bytes
    days = Crossdock::Array.new([0, nil, 19_000], dtype: "<M8[D]")
    assert_equal [Date.new(1970, 1, 1), nil, Date.new(2022, 1, 8)], Crossdock.column(days).to_a
    bytes = Fiddle::Pointer["abc"]
    assert_equal [97, 98, 99], Crossdock.column(bytes).to_a
    assert_match(/one axis/, message_of(ArgumentError) { Crossdock.column(Crossdock::Array[[1], [2]]) })
  end

  def test_a_table_has_columns_rows_and_parts
    table = parts
    assert_equal [%w[name price], [3, 2], [%w[name string], %w[price float64]]], [table.names, table.shape, table.schema]
    assert_equal [3, 3, true, false], [table.size, table.length, table.key?(:price), table.key?("colour")]
    assert_equal({ "name" => nil, "price" => 0.5 }, table[1])
    assert_equal({ "name" => "wäsher", "price" => 0.125 }, table[-1])
    assert_equal({ "name" => ["bolt", nil, "wäsher"], "price" => PRICES }, table.to_h)
    assert_equal [table[-1], [table[1], table[2]], table.to_a, []], [table.last, table.last(2), table.last(9), table.last(0)]
    assert_equal [0.125, PRICES.last(2), nil, []], [table["price"].last, table["price"].last(2), table[3..]["price"].last, table[3..].last(1)]
    assert_equal [nil, nil], [table[3..].last, table["name"][1, 1].last]
    [table, table["name"]].each { |part| assert_raise(ArgumentError) { part.last(-1) } }
    assert_equal PRICES, table.map { |row| row["price"] }
    assert_equal 3, table.each_row.size
    assert_equal ["wäsher"], table.select { |row| row["price"] < 0.2 }.map { |row| row["name"] }
    assert_equal [[0.5, 0.125], [0.25], [], [0.125]], [table[1..], table[0, 1], table[3..], table[-1..]].map { |part| part["price"].to_a }
    assert_equal %w[price], table[[:price]].names
    assert_equal [%w[who price], "bolt"], table.rename(name: :who).then { |renamed| [renamed.names, renamed["who"][0]] }
    [[3, /index 3.*3 rows/], [-4, /-4/], [4.., /4\.\..*3 rows/]].each { |index, why| assert_match(why, message_of(IndexError) { table[index] }) }
    assert_match(/"colour" among \["name", "price"\]/, message_of(KeyError) { table["colour"] })
    assert_raise(KeyError) { table.rename("colour" => "x") }
    twice = table.rename("price" => "name")
    assert_match(/2 columns are called "name"/, message_of(KeyError) { twice["name"] })
    [:to_h, :to_a].each { |method| assert_match(/2 columns/, message_of(Crossdock::Error) { twice.public_send(method) }) }
    assert_match(/"b" has 2 elements/, message_of(ArgumentError) { Crossdock.table("a" => [1], "b" => [1, 2]) })
    assert_match(/no table/, message_of(TypeError) { Crossdock.table(5) })
    assert_same table, Crossdock.table(table)
    long = Crossdock.table("n" => Crossdock::Array.new((0...3000).to_a))
    assert_equal (0...3000).to_a, long.map { |row| row["n"] }
  end

  def test_they_are_text_to_people
    assert_equal "Crossdock::Table [3, 2]\n     name  price\n0    bolt   0.25\n1     nil    0.5\n2  wäsher  0.125\n\n[3 rows x 2 columns]", parts.inspect
    assert_equal "Crossdock::Column \"name\" string 3\n[\"bolt\", nil, \"wäsher\"]", parts["name"].inspect
    assert_equal "[0, 1, 2, 3, 4, ..., 95, 96, 97, 98, 99]", Crossdock.column((0..99).to_a).to_s
    assert_match(/^\.\.\. +\.\.\.$/, Crossdock.table("n" => (0..99).to_a).to_s)
  end

  def test_they_are_written_as_json_and_not_as_objects
    require "json"
    require "yaml"
    rows = [{ "name" => "bolt", "price" => 0.25 }, { "name" => nil, "price" => 0.5 }, { "name" => "wäsher", "price" => 0.125 }]
    assert_equal [rows, rows, ["bolt", nil, "wäsher"]], [JSON.parse(parts.to_json), JSON.parse(JSON.generate(parts)), JSON.parse(parts["name"].to_json)]
    assert_match(/"price": 0.25/, JSON.pretty_generate(parts))
    assert_raise(JSON::GeneratorError) { Crossdock.table("x" => [Float::NAN]).to_json }
    [Marshal.method(:dump), YAML.method(:dump)].each do |dump|
      assert_match(/a Crossdock::Table .*save it .*each_row/, message_of(TypeError) { dump.call(parts) })
      assert_match(/a Crossdock::Column .*to_a/, message_of(TypeError) { dump.call(parts["name"]) })
      assert_match(/a Crossdock::ArrowStream .*table\.save/, message_of(TypeError) { dump.call(parts(Crossdock::Array.new(PRICES).freeze.copy.freeze).to_arrow) })
    end
  end

  def test_json_is_loaded_when_it_is_needed
    { 'table("n" => [1])' => '[{"n":1}]', "column([1, nil])" => "[1,null]", "view(Crossdock::Array[1])" => "[1]" }.each do |made, written|
      # RubyGems may load it.
      code = "raise if [].respond_to?(:to_json); print Crossdock.#{made}.to_json"
      library = File.expand_path("../lib", __dir__)
      assert_equal [written, "", true], Open3.capture3(RbConfig.ruby, "-I", library, "-r", "crossdock", "-e", code).then { |out, err, status| [out, err, status.success?] }
    end
  end

  def test_the_number_of_the_last_ones_is_checked
    { parts => parts.to_a, parts["name"] => parts["name"].to_a, Crossdock::Array[1, 2] => [1, 2] }.each do |list, all|
      assert_equal [all, all.last(1), []], [list.last(2**70), list.last(1), list.last(0)]
      assert_match(/count: an instance of String is no Integer/, message_of(TypeError) { list.last("x") })
      assert_match(/count: -1 is negative/, message_of(ArgumentError) { list.last(-1) })
    end
  end

  def test_rows_are_a_table
    rows = [{ a: 1, b: "x" }, { b: nil, a: 2 }]
    assert_equal({ "a" => [1, 2], "b" => ["x", nil] }, Crossdock.table(rows).to_h)
    assert_equal [0, []], Crossdock.table([]).then { |none| [none.size, none.names] }
    assert_equal [rows.first.transform_keys(&:to_s)], Crossdock::Table.new(rows.first(1)).to_a
    [[[{ a: 1 }, { b: 1 }], /row 1 has the columns \["b"\], and row 0 has \["a"\]; give nil/], [[{ a: 1 }, { a: 1, b: 2 }], /row 1/]].each do |wrong, why|
      assert_match(why, message_of(ArgumentError) { Crossdock.table(wrong) })
    end
    assert_match(/row 1 has the keys \["a", :a\], .*give one/, message_of(ArgumentError) { Crossdock.table([{ a: 1 }, { "a" => 1, a: 2 }]) })
    [[{}, {}], [{}]].each { |rows| assert_match(/row 0 has no columns, .*give names/, message_of(ArgumentError) { Crossdock.table(rows) }) }
    assert_match(/row 1 has the columns \[\]/, message_of(ArgumentError) { Crossdock.table([{ a: 1 }, {}]) })
    pair = Struct.new(:a, :b)
    assert_equal({ "a" => [1, 2], "b" => ["x", nil] }, Crossdock.table([pair.new(1, "x"), pair.new(2, nil)]).to_h)
    assert_match(/row 1 is an instance of Integer/, message_of(TypeError) { Crossdock.table([{ a: 1 }, 2]) })
    assert_match(/an instance of String is no table/, message_of(TypeError) { Crossdock::Table.new("x") })
  end

  def test_lists_of_other_kinds_are_columns
    [[1..3, [1, 2, 3]], [[3, nil].each, [3, nil]], [Set["x"], ["x"]]].each do |list, values|
      assert_equal values, Crossdock.column(list).to_a
    end
    assert_match(/infinitely many/, message_of(ArgumentError) { Crossdock.column(loop) })
  end

  def test_copies_lie_on_the_same_memory
    prices = Crossdock::Array.new(PRICES)
    table = parts(prices)
    [table.dup, table.clone, table.freeze.clone].each { |copy| assert_equal prices.address, copy["price"].array.address }
    assert_equal [false, true, false], [table.dup, table.clone, table.clone(freeze: false)].map(&:frozen?)
    assert_equal [prices.address, true], table["price"].freeze.clone.then { |copy| [copy.array.address, copy.frozen?] }
  end

  def test_a_copy_has_new_memory
    prices = Crossdock::Array.new(PRICES)
    table = parts(prices)
    before = Crossdock.copied_bytes
    copy = table.copy
    assert_operator Crossdock.copied_bytes - before, :>=, 24
    prices[0] = 9.0
    assert_equal [PRICES, ["bolt", nil, "wäsher"], 9.0], [copy["price"].to_a, copy["name"].to_a, table["price"][0]]
    both = Crossdock.table(Stream.new(table, table[0..0], table[1..])).copy
    assert_equal [[1, 2], table.to_h, table.schema], [both.batches.map(&:size), both.to_h, both.schema]
  end

  def test_they_explain_what_they_offer
    text = Crossdock.explain(Crossdock.table("n" => [1, nil], "s" => %w[a b], "x" => [1.5, 2.5]))
    assert_match(/2 rows of 3 columns; batches: 1\n  Arrow's C stream: in place\n/, text)
    assert_match(/"n", int64: refused: .*fill_nulls.*\n  "s", string: refused: .*to_a.*\n  "x", float64: in place\z/, text)
    assert_match(/refused: .*no fixed width/, Crossdock.explain(parts["name"]))
    assert_match(/fill_nulls/, message_of(Crossdock::Refusal) { Crossdock::Array.new(Crossdock.column([1, nil])) })
  end

  def test_a_released_table_has_nothing_and_its_parts_stay
    table = parts
    column, part = table["price"], table[1..]
    assert_equal [nil, nil, true], [table.release, table.release, table.released?]
    assert_equal ["released", "#<Crossdock::Table released>"], [table.to_s, table.inspect]
    [:names, :size, :batches, :to_records, :to_arrow, :to_h, :to_json].each do |method|
      assert_match(/was released/, message_of(Crossdock::Error) { table.public_send(method) }, method)
    end
    assert_equal [PRICES, 2, false], [column.to_a, part.size, part.released?]
  end

  def test_a_released_column_has_nothing_and_its_parts_stay
    column = parts["price"]
    part, view = column[1..], Fiddle::MemoryView.new(column)
    assert_equal [nil, nil, true], [column.release, column.release, column.released?]
    assert_equal ["released", "#<Crossdock::Column released>"], [column.to_s, column.inspect]
    %i[name type nullable? size null_count array mask compact chunks to_a to_arrow to_arrow_c_array to_json each last].each do |method|
      assert_match(/column was released/, message_of(Crossdock::Error) { column.public_send(method) {} }, method)
    end
    assert_raise(Crossdock::Error) { Crossdock.table("price" => column) }
    assert_raise(ArgumentError) { Fiddle::MemoryView.new(column) }
    assert_equal [PRICES.drop(1), PRICES[0], false], [part.to_a, view[0], part.released?]
  end

  def test_nulls_are_filled_and_masked
    column = Crossdock.column([1, nil, 3])
    assert_match(/1 of 3 elements are null.*fill_nulls/, message_of(Crossdock::Refusal) { column.array })
    assert_equal [[1, 9, 3], [true, false, true], [1, nil, 3]], [column.fill_nulls(9).array.to_a, column.mask.to_a, column.to_a]
    assert_match(/string.*to_a/, message_of(TypeError) { parts["name"].array })
    assert_equal ["bolt", "-", "wäsher"], parts["name"].fill_nulls("-").to_a
    assert_equal [true, true, false], Crossdock.column([true, nil, false]).fill_nulls(true).to_a
    assert_equal ["\xff".b, "".b], Crossdock.column(["\xff".b, nil]).fill_nulls("").to_a
    assert_match(/string cannot be filled with an instance of Integer/, message_of(TypeError) { parts["name"].fill_nulls(5) })
    assert_raise(TypeError) { Crossdock.column([Date.new(2024, 1, 1), nil]).fill_nulls(5) }
    assert_raise(RangeError) { column.fill_nulls(2**64) }
  end

  def test_columns_are_memory_views
    prices = Crossdock::Array.new(PRICES)
    column = parts(prices)["price"]
    view = Fiddle::MemoryView.new(column)
    assert_equal ["d", [3], 0.5, prices.to_binary], [view.format, view.shape, view[1], view.to_s]
    view.release
    assert_equal prices.address, Crossdock.view(column).address
    [Crossdock.column([1, nil]), parts["name"]].each do |other|
      assert_raise(ArgumentError) { Fiddle::MemoryView.new(other) }
      assert_match(/null|fixed width/, message_of(Crossdock::Refusal, TypeError) { Crossdock.view(other) })
    end
    views = 300.times.map { |number| Fiddle::MemoryView.new(Crossdock.column(Crossdock::Array[number, number])) }
    GC.start
    assert_equal((0...300).to_a, views.map { |one| one[0] })
  end

  def test_records_are_tables_and_back
    records = Crossdock::Array.new([{ price: 1.5, size: 3 }, { price: 2.5, size: 4 }], dtype: { price: :float32, size: :uint8 })
    table = Crossdock.table(records)
    assert_equal({ "price" => [1.5, 2.5], "size" => [3, 4] }, table.to_h)
    assert_equal [records.dtype, records.to_a], table.to_records.then { |back| [back.dtype, back.to_a] }
    assert_match(/"n" are null/, message_of(Crossdock::Refusal) { Crossdock.table("n" => [1, nil]).to_records })
    assert_raise(TypeError) { Crossdock.table("s" => %w[a]).to_records }
    none = Crossdock.table(Stream.new(table)).to_records
    assert_equal [records.dtype, []], [none.dtype, none.to_a]
  end

  def test_a_stream_lends_the_memory_until_it_is_released
    prices = Crossdock::Array.new(PRICES)
    table = parts(prices)
    stream = table.to_arrow_c_stream
    prices[0] = 7.0
    back = Crossdock::Table.from_arrow(stream.address)
    assert_predicate stream, :released?
    assert_equal [prices.address, 7.0], [back["price"].array.address, back["price"][0]]
    assert_match(/read leases?/, message_of(Crossdock::Refusal) { prices[0] = 1.0 })
    assert_match(/taken once/, message_of(Crossdock::Error) { Crossdock::Table.from_arrow(stream) })
    stream.release
    assert_equal "#<Crossdock::ArrowStream released>", stream.inspect
    assert_raise(ArgumentError) { Crossdock::Table.from_arrow(0) }
    assert_raise(TypeError) { Crossdock::Table.from_arrow(Object.new) }

    structs = table.to_arrow_c_array
    assert_equal table.to_h, Crossdock::Table.from_arrow(structs.schema, structs.array).to_h
    assert_equal table.to_h, Crossdock::Table.from_arrow(table.to_arrow_c_array).to_h
    assert_equal PRICES.drop(1), Crossdock::Column.from_arrow(table["price"].to_arrow_c_array).to_a.drop(1)
    assert_match(/struct/, message_of(Crossdock::Error) { Crossdock::Table.from_arrow(table["price"].to_arrow_c_array) })

    shared = Crossdock::Array.new(PRICES).to_shared_memory
    assert_raise(Crossdock::Refusal) { Crossdock.table("p" => shared).to_arrow_c_stream }
    assert_equal PRICES, Crossdock::Column.from_arrow(Crossdock.column(shared).compact).to_a
  end

  def test_batches_of_a_stream_in_ruby_are_chunks
    first, second = parts[0..0], parts[1..]
    stream = Stream.new(first, first, second)
    table = Crossdock.table(stream)
    assert_equal [3, [1, 2], parts.to_h], [table.size, table.batches.map(&:size), table.to_h]
    assert_equal [0.5, PRICES, [0.5]], [table["price"][1], table["price"].to_a, table["price"][1, 1].to_a]
    assert_equal [1, 2], table["price"].chunks.map(&:size)
    assert_match(/2 chunks/, message_of(Crossdock::Refusal) { table["price"].array })
    assert_match(/2 batches/, message_of(Crossdock::Refusal) { table.to_arrow_c_array })
    assert_equal PRICES, table["price"].compact.array.to_a
    assert_equal [0.5, 0.125], table[1..]["price"].array.to_a
    both = Crossdock.table("a" => table["price"], "b" => Crossdock::Array[1, 2, 3])
    assert_equal [[1, 2], [1, 2, 3]], [both.batches.map(&:size), both["b"].to_a]
    assert_equal 3, both.to_records.size
    assert_equal table.to_h, Crossdock::Table.from_arrow(table).to_h
    empty = Crossdock.table(Stream.new(first))
    assert_equal [0, [], %w[name price], []], [empty.size, empty.batches, empty.names, empty["price"].to_a]
  end

  def test_a_stream_that_fails_is_an_error_with_its_message
    first = parts
    assert_match(/the tape broke/, assert_raise_kind_of(IOError, SystemCallError) { Crossdock.table(Stream.new(first, first, 5, message: "the tape broke")) }.message)
    assert_match(/of the producer's own/, assert_raise_kind_of(StandardError) { Crossdock.table(Stream.new(first, first, ArgumentError.new("of the producer's own"))) }.message)
    stream = Stream.new(first, Crossdock.table("other" => ["x"]))
    assert_raise_kind_of(StandardError) { Crossdock.table(stream) }
    # Released in the end: the last call has one argument, the struct.
    assert_equal 1, stream.calls.last
  end

  def test_a_table_is_saved_and_opened_in_place
    Dir.mktmpdir do |folder|
      table = parts
      [["t.arrow", false], ["t.feather", :zstd], ["t.arrows", true]].each do |name, compress|
        path = File.join(folder, name)
        assert_same table, table.save(path, compress: compress)
        opened = Crossdock.open(path)
        assert_equal [table.to_h, table.schema], [opened.to_h, opened.schema]
        assert_equal table.to_h, (Crossdock.open(path) { |one| one.to_h })
      end
      path = Pathname(folder) / "t.arrow"
      mapped = Crossdock.open(path, constant: true)
      before = Crossdock.copied_bytes
      back = Crossdock::Table.from_arrow(mapped)
      assert_equal mapped["price"].array.address, back["price"].array.address
      assert_equal before, Crossdock.copied_bytes
      assert_raise(Crossdock::Refusal) { Crossdock.open(path).to_arrow_c_stream }
      %w[x.csv z.npy x].each do |other|
        other = File.join(folder, other)
        assert_match(/#{other}.*no table.*\.arrow, \.feather or \.arrows.*to_records/, message_of(ArgumentError) { table.save(other) })
        assert_false File.exist?(other)
      end
      assert_match(/"brotli"/, message_of(ArgumentError) { table.save(path, compress: :brotli) })
      assert_match(/no such folder.*x\.arrow/m, message_of(Errno::ENOENT) { table.save(File.join(folder, "no such folder", "x.arrow")) })
      assert_equal table.to_h, Crossdock.open(path).to_h
      missing = File.join(folder, "missing.arrow")
      assert_equal 1, message_of(Errno::ENOENT) { Crossdock.open(missing) }.scan("missing.arrow").size
    end
  end

  def test_exports_are_released_by_the_collector
    prices = Crossdock::Array.new(PRICES)
    50.times { parts(prices).to_arrow_c_stream }
    50.times { Crossdock::Table.from_arrow(parts(prices)) }
    20.times do
      GC.start
      # What a collection has queued is released by the next array.
      Crossdock::Array.new([0])
      break if writable?(prices)
    end
    assert writable?(prices)
  end

  def writable?(array)
    array[0] = 1
    true
  rescue Crossdock::Refusal
    false
  end

  # In a process of its own, which loads Python's library.
  def test_tables_of_pyarrow_are_taken_and_given_in_place
    python = ENV.fetch("CROSSDOCK_PYTHON", "python3")
    program = File.join(__dir__, "tables", "pyarrow.rb")
    output, status = Open3.capture2e(RbConfig.ruby, "-w", "-I#{File.expand_path("../lib", __dir__)}", program, python)
    flunk(output) if status.exitstatus == 77 && ENV["CROSSDOCK_REQUIRE_COUNTERPARTS"]
    omit(output) if [77, 78].include?(status.exitstatus)
    assert_predicate status, :success?, output
    assert_match(/\A\d+ columns both ways\n\z/, output)
  end
end
