# frozen_string_literal: true

require_relative "helper"
require "fiddle"
require "open3"
require "rbconfig"

# The programs in Ruby of the guide: each chapter shows its file as it is, and what it prints.
class TestGuide < Test::Unit::TestCase
  ROOT = File.expand_path("../../..", __dir__)
  GUIDE = File.join(ROOT, "docs", "guide")
  LIBRARY = File.expand_path("../lib", __dir__)

  def test_the_chapter_on_leases_shows_its_program_and_what_it_prints
    assert_shown "04_leases.rb", "04-leases.md"
  end

  def test_the_chapter_on_copies_shows_its_program_and_what_it_prints
    assert_shown "05_copies.rb", "05-copies.md"
  end

  def test_the_chapter_on_producers_shows_its_program_and_what_it_prints
    assert_shown "08_producer.rb", "08-producer.md"
  end

  def test_the_chapter_on_opening_files_shows_its_program_and_what_it_prints
    assert_shown "01_open.rb", "01-open.md"
  end

  def test_the_chapter_on_slices_shows_its_program_and_what_it_prints
    assert_shown "03_slices.rb", "03-slices.md"
  end

  private

  # Runs a program in the checkout.
  def assert_shown(program, chapter)
    path = File.join(GUIDE, "programs", program)
    output, status = Open3.capture2e(RbConfig.ruby, "-w", "-I", LIBRARY, path, chdir: ROOT)
    assert_predicate status, :success?, output
    assert_include File.read(File.join(GUIDE, chapter)), "```ruby\n#{File.read(path)}```\n\n```text\n#{output}```\n"
  end
end

# "Coming from MemoryView": the cells of its table are run and compared, and the page shows what its program prints.
class TestGuideFrom < Test::Unit::TestCase
  PAGE = File.read(File.join(TestGuide::GUIDE, "from-memory-view.md"))
  ROWS = PAGE.lines.drop_while { |line| !line.start_with?("|--") }.drop(1).take_while { |line| line.start_with?("|") }
             .map { |line| line.strip.delete_prefix("|").delete_suffix("|").split(" | ").map(&:strip) }
  HEADER = File.read(File.join(RbConfig::CONFIG["rubyhdrdir"], "ruby", "memory_view.h"))

  # Values where the left cell is a name of C.
  EXPECTED = {
    "Crossdock.view(object, writable: true)" => ->(array) { !array.readonly? },
    "Crossdock.explain(object)" => ->(text) { text.include?("MemoryView") },
    "Crossdock.register(Klass, adapter)" => ->(registered) { Crossdock.unregister(registered).respond_to?(:call) },
    "array[1, 0] = 40" => ->(value) { value == 40 },
    "array.to_a" => ->(value) { value == [[1, 2, 3], [4, 5, 6]] },
    'Crossdock::Array.from_string("bytes".b.freeze)' => ->(array) { array.to_binary == "bytes" },
    "array.copy(order: :row_major)" => ->(array) { array.strides == [24, 8] }
  }.freeze

  # The names that the cells use.
  def names
    object = Crossdock::Array.new([[1, 2, 3], [4, 5, 6]])
    array = Crossdock.view(object, writable: true)
    values = { object: object, array: array, view: Fiddle::MemoryView.new(object), adapter: ->(_object, _request) { array } }
    binding.tap { |scope| values.each { |name, value| scope.local_variable_set(name, value) } }
  end

  Klass = Class.new

  def same?(theirs, here)
    case here
    when Symbol then theirs == Fiddle::MemoryView.new(Crossdock::Array.zeros(1, dtype: here)).format
    when Crossdock::Array then theirs.shape == here.shape
    when String then theirs.b == here
    else theirs == here
    end
  end

  def test_every_row_has_two_ways_to_the_same_value
    assert_include 12..18, ROWS.size
    ROWS.each do |left, right|
      scope = names
      code = right.delete_prefix("`").delete_suffix("`")
      here = scope.eval(code)
      if code.end_with?(".release")
        scope.eval(left.delete("`"))
        assert_predicate scope.local_variable_get(:array), :released?
      elsif left.match?(/`(rb|RUBY)_/)
        left.scan(/`(\w+)`/).flatten.each { |name| assert_include HEADER, name }
        assert EXPECTED.fetch(code).call(here), code
      elsif code.end_with?(".readonly?")
        assert_equal [true, false], [scope.eval(left.delete("`")), here]
      else
        assert same?(scope.eval(left.delete("`")), here), code
      end
    end
  end

  def test_the_page_shows_its_program_and_what_it_prints
    path = File.join(TestGuide::GUIDE, "programs", "from_memory_view.rb")
    output, status = Open3.capture2e(RbConfig.ruby, "-w", "-I", TestGuide::LIBRARY, path)
    assert_predicate status, :success?, output
    assert_include PAGE, "```ruby\n#{File.read(path)}```\n\n```text\n#{output}```\n"
  end

  def test_the_surprises_are_as_the_page_says
    reader = Crossdock::Array.new([1.5]).to_readonly
    assert_raise(FrozenError) { Crossdock.view(reader, writable: true) }
    assert_raise(ArgumentError) { Fiddle::MemoryView.new(Crossdock::Array.zeros(2, dtype: :float16)) }
    assert_equal ["C", :bool], Crossdock::Array[true].then { |bools| [Fiddle::MemoryView.new(bools).format, Crossdock.view(bools).dtype] }
    bytes = +"bytes"
    lent = Crossdock::Array.from_string(bytes)
    assert_raise(RuntimeError) { bytes << "!" }
    lent.release
    bytes << "!"
  end
end
