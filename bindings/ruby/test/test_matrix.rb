# frozen_string_literal: true

require_relative "helper"
require_relative "native"
require_relative "peers"
require "tmpdir"

begin
  require "narray"
  require "rmagick"
rescue LoadError => error
  raise if ENV.key?("CROSSDOCK_REQUIRE_COUNTERPARTS")

  # The page has rows of both libraries.
  missing = error.message
  Class.new(Test::Unit::TestCase) do
    def self.name = "TestMatrix"

    define_method(:test_every_way_in_goes_with_every_way_out_and_the_page_says_how) { omit(missing) }
  end
  return
end

# The page has rows of Numo, so it is compared where Numo can be built.
if (numo = Peers.library("numo-narray"))
  $LOAD_PATH.unshift(numo)
  require "numo/narray"
end

Native.load("probe") unless defined?(Probe)

require_relative "matrix/specimens"
require_relative "matrix/importers"
require_relative "matrix/exporters"
require_relative "matrix/overlap"
require_relative "matrix/page"

# Every importer of the gem with every exporter, over every class of layout, in one run, which
# `docs/evidence/matrix.md` records.
class TestMatrix < Test::Unit::TestCase
  include HandOvers

  def setup
    @experimental, Warning[:experimental] = Warning[:experimental], false
    Importers.folder = Dir.mktmpdir("crossdock-matrix")
  end

  def teardown
    Warning[:experimental] = @experimental
    FileUtils.rm_rf(Importers.folder)
  end

  # The bytes of the elements in the array.
  def elements(array)
    array.to_binary.b.scan(/.{#{array.itemsize}}/mn)
  end

  # Without a copy; and if that is refused, with one. Returns the result, the number of bytes
  # counted, and the first refusal.
  def with_or_without_a_copy
    why = nil
    [false, true].each do |copy|
      before = Crossdock.copied_bytes
      return [yield(copy), Crossdock.copied_bytes - before, why]
    rescue Crossdock::Refusal, FrozenError, TypeError => error
      why ||= error.message
    end
    [nil, 0, why]
  end

  def bring(importer, one)
    brought, copied, why = with_or_without_a_copy { |copy| importer.call(one, copy) }
    return [nil, Verdict.new(:refused, why)] unless brought

    assert_equal one.expected, elements(brought.array), one.name
    assert_equal one.shape, brought.array.shape
    assert_equal why ? one.expected.join.bytesize : 0, copied, one.name
    return [brought, Verdict.new(:copies, why)] if why

    assert seen_there?(brought, one), "#{one.name}: nothing was counted, and it is elsewhere"
    [brought, Verdict.new(:in_place)]
  rescue CannotSay => error
    [nil, Verdict.new(:cannot_say, error.message)]
  end

  # Whether the array's first element is at the producer's address.
  def seen_there?(brought, one)
    return true if one.expected.empty?
    return brought.array.address == brought.address unless brought.write

    first = one.expected[0].getbyte(0)
    brought.write.call((first ^ 1).chr)
    seen = elements(brought.array)[0].getbyte(0)
    brought.write.call(first.chr)
    seen == first ^ 1
  end

  def hand_out(exporter, array, expected)
    got, copied, why = with_or_without_a_copy { |copy| exporter.call(array, copy) }
    return Verdict.new(:refused, why) unless got

    assert_equal expected, got.elements
    assert_equal why ? expected.join.bytesize : 0, copied
    assert_equal why.nil?, got.address == first_address(array), why if got.address && !expected.empty?
    got.give_back.call
    why ? Verdict.new(:copies, why) : Verdict.new(:in_place)
  end

  # The position of the first element: in the first row, if rows are behind pointers.
  def first_address(array)
    array.ndim < 2 ? array.address : array[0, *[0..0] * (array.ndim - 1)].address
  end

  def by_specimen
    SPECIMENS.to_h { |one| [one.name, yield(one)] }
  end

  # As in the Rust library's own run: the result of each transfer follows from its two halves.
  def way(importer, exporter)
    one = SPECIMENS.find { |specimen| bring(importer, specimen).last.goes? }
    brought, inward = bring(importer, one)
    inward.worse(hand_out(exporter, brought.array, one.expected))
  end

  def test_every_way_in_goes_with_every_way_out_and_the_page_says_how
    imports = Importers::ALL.transform_values { |importer| by_specimen { |one| bring(importer, one).last } }
    exports = Exporters::ALL.transform_values do |exporter|
      by_specimen { |one| hand_out(exporter, Exporters.own(one), one.expected) }
    end
    pairs = Importers::ALL.transform_values { |importer| Exporters::ALL.transform_values { |exporter| way(importer, exporter) } }
    (imports.values + exports.values).each { |row| assert row.values.any?(&:goes?) }
    compare(Page.section(imports, exports, pairs, twice))
  end

  # Every pair of importers, over one memory.
  def twice
    Overlap.table do |target, source|
      Overlap.verdict(target, source) { |what, expected, got| assert expected == got, "#{what}: #{differing(expected, got)} elements are wrong" }
    end
  end

  def differing(expected, got)
    expected.unpack("s*").zip(got.unpack("s*")).count { |one, other| one != other }
  end

  def compare(section)
    omit("numo-narray: its sources are not beside the repository, and the page has rows of it") unless defined?(Numo)

    page = File.read(Page::FILE)
    above, below = page.split(Page::HEADING, 2)
    if ENV.key?("CROSSDOCK_BLESS")
      File.write(Page::FILE, "#{above}\n#{section}")
    else
      assert_equal section, "#{Page::HEADING.lstrip}#{below}", "write it anew: CROSSDOCK_BLESS=1 rake test TEST=test/test_matrix.rb"
    end
  end
end
