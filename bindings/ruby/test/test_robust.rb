# frozen_string_literal: true

require_relative "helper"
require_relative "native"
require "fiddle"
require "open3"

Native.load("probe") unless defined?(Probe)

# The collector, threads, Ractors, and the end of the process.
class TestRobust < Test::Unit::TestCase
  include Helper

  def run_program(program, *flags)
    libraries = [File.expand_path("../lib", __dir__), __dir__].map { |folder| "-I#{folder}" }
    output, status = Open3.capture2e(RbConfig.ruby, *flags, *libraries, "-rnative", "-rcrossdock", "-e", program)
    assert_predicate status, :success?, output
    output
  end

  # A little of everything.
  def exercise(round)
    array = Crossdock::Array.new([[round, 2, 3], [4, 5, 6]])
    lent = Probe.get(array)
    string = "#{round} bytes that are lent".dup
    kept = [array[true, 1..], array.transpose, array.reshape(6), array.cast(:float32), array.copy, Crossdock.view(Fiddle::Pointer["bytes #{round}"]),
            Crossdock::Array.from_string(string), Crossdock::Array.from_string(string.b.freeze), Crossdock.view(Probe::Lender.new({ bytes: "abcd" }))]
    records = Crossdock::Array.new([{ x: 1, y: 0.5 }], dtype: { x: :int16, y: :float64 })
    assert_equal [[[round, 2, 3], [4, 5, 6]], round, "ff"], [array.to_a, lent.item([0, 0]), "ff"]
    assert_equal [[[2, 3], [5, 6]], [[round, 4], [2, 5], [3, 6]], [round, 2, 3, 4, 5, 6]], kept.first(3).map(&:to_a)
    assert_equal [97, 98, 99, 100], kept.last.to_a
    assert_equal string.b, kept[6].to_binary
    assert_equal [{ x: 1, y: 0.5 }], records.to_a
    assert_equal [1.5, 1e300, 1i.imaginary], [*Crossdock::Array.new([1.5, 1e300]).to_a, Crossdock::Array.new([1i])[0].imaginary]
    assert_raise(IndexError) { array[9] }
    assert_raise(TypeError) { Crossdock.view(string) }
    assert_match(/offers/, Crossdock.explain(array))
    assert_match(/int64 \[2, 3\]/, array.inspect)
    array[true, 0] = [7, round]
    assert_equal [7, round], array[true, 0].to_a
    assert_equal({ array => 1 }, { array.copy => 1 })
    lent.release
    kept[6].release
  end

  def test_everything_works_while_the_collector_runs_at_every_allocation
    exercise(0)
    GC.stress = true
    begin
      exercise(1)
    ensure
      GC.stress = false
    end
  end

  def test_everything_works_while_objects_are_moved
    omit("this Ruby does not compact") unless GC.respond_to?(:compact)
    strings = ::Array.new(200) { |k| "#{k}".freeze }
    arrays = strings.map { |string| Crossdock::Array.from_string(string) }
    lent = arrays.map { |array| Probe.get(array) }
    10.times do |round|
      exercise(round)
      GC.compact
      assert_equal arrays.map(&:to_a), lent.map { |view| ::Array.new(view.fields[:shape][0]) { |k| view.item([k]) } }
      assert_equal arrays, lent.map { |view| view.fields[:obj] }
    end
    begin
      GC.auto_compact = true
      3.times do |round|
        exercise(round)
        GC.start
      end
    ensure
      GC.auto_compact = false
    end
  end

  # The final sweep releases most of them, in any order, when their arrays may be gone.
  def test_two_thousand_views_may_be_held_when_the_process_ends
    program = <<~'RUBY'
      require "fiddle"
      Native.load("probe")
      srand(Integer(ENV.fetch("SEED")))
      lender = Probe::Lender.new({ bytes: "abcd" * 10 })
      $views = Array.new(2000) do |k|
        array = Crossdock::Array.new([k] * (1 + k % 20))
        case k % 4
        when 0 then Fiddle::MemoryView.new(array)
        when 1 then Probe.get(array[0..0])
        when 2 then Fiddle::MemoryView.new(Crossdock.view(rand < 0.5 ? lender : Fiddle::Pointer["bytes"]))
        else Crossdock.view(Crossdock::Array.from_string("bytes %d" % k)).tap { |view| Probe.leak(view) }
        end
      end.shuffle
      $stdout.print $views.size
    RUBY
    (ENV["CROSSDOCK_SEED"] ? 20 : 6).times do |seed|
      ENV["SEED"] = seed.to_s
      assert_equal "2000", run_program(program)
    end
  ensure
    ENV.delete("SEED")
  end

  def test_views_are_released_on_other_threads_than_they_were_taken_on
    array = Crossdock::Array.new([1, 2, 3])
    views = ::Array.new(8) { Thread.new { ::Array.new(50) { Probe.get(array) } } }.flat_map(&:value)
    assert_equal 400, Probe.exports(array)
    views.each_slice(100).map { |some| Thread.new { assert(some.all?(&:release)) } }.each(&:join)
    assert_equal 0, Probe.exports(array)
  end

  def test_frozen_arrays_are_shared_among_ractors
    output = run_program(<<~'RUBY', "-W0")
      array = Ractor.make_shareable(Crossdock::Array.new([[1, 2], [3, 4]]))
      string = Ractor.make_shareable(Crossdock::Array.from_string("abcdefgh".freeze, dtype: :int16))
      print Ractor.shareable?(array), Ractor.shareable?(Crossdock::Array[1]), array.frozen?
      ractors = Array.new(4) do |number|
        Ractor.new(array, string, number) do |shared, bytes, number|
          sum = 0
          300.times do |round|
            own = Crossdock::Array.new([[number, round]] * 3, dtype: :float64)
            own[1] = shared[0]
            sum += own[true, 0].sum + shared.transpose.to_a.flatten.sum + bytes.size
            sum += Crossdock.view(shared)[1, 1] + Crossdock::Array.from_string("bytes #{round}".dup).size * 0
            own.release
            begin
              shared[0, 0] = 5
            rescue FrozenError
              sum += 1
            end
            begin
              shared[9, 9]
            rescue IndexError
              sum += 1
            end
            GC.start if round % 100 == 0
          end
          [sum, own = Crossdock::Array.new([1, 2, 3]).freeze]
        end
      end
      print ractors.map { _1.respond_to?(:value) ? _1.value : _1.take }.map { |sum, own| [sum, own.to_a] }.inspect
    RUBY
    sums = ::Array.new(4) { |number| [(number * 2.0 + 1 + 10 + 4 + 4 + 2) * 300, [1, 2, 3]] }
    assert_equal "truefalsetrue#{sums.inspect}", output
  end

  # A Ractor releases its own loans: a sweep may run in any other one.
  def test_strings_that_ractors_have_lent_are_unlocked_there
    output = run_program(<<~'RUBY', "-W0")
      ractors = Array.new(3) do
        Ractor.new do
          50.times.count do |round|
            string = "a string that is lent %d" % round
            Crossdock::Array.from_string(string)[1..]
            GC.start if round % 10 == 0
            Crossdock::Array.from_string("another".dup) { |array| array.size }
            kept = "released %d" % round
            Crossdock::Array.from_string(kept).release
            kept << "."
          end
        end
      end
      print ractors.map { _1.respond_to?(:value) ? _1.value : _1.take }.inspect
    RUBY
    assert_equal "[50, 50, 50]", output
  end

  # Through Ruby's C API, which locks for each view.
  def test_ractors_exchange_views_of_one_array
    output = run_program(<<~'RUBY', "-W0")
      Native.load("probe")
      array = Crossdock::Array.new([1.5] * 10).freeze
      print Array.new(3) { Ractor.new(array) { |shared| Probe.exchange(shared, 20_000) } }.map { _1.respond_to?(:value) ? _1.value : _1.take }.inspect, Probe.exports(array)
    RUBY
    assert_equal "[true, true, true]0", output
  end

  def test_a_child_of_fork_goes_on
    array = Crossdock::Array.new([1, 2, 3])
    view = Probe.get(array)
    reader, writer = IO.pipe
    pid = fork do
      reader.close
      array[0] = 100
      writer.print [view.item([0]), view.release, Crossdock::Array.new([[1, 2]]).to_a].inspect
      writer.close
      exit!(0)
    end
    writer.close
    assert_equal "[100, true, [[1, 2]]]", reader.read
    Process.wait(pid)
    assert_equal [1, true], [array[0], view.release]
  end

  # Each round allocates and drops about 16 KB.
  def test_what_is_dropped_is_given_back
    make = lambda do |count|
      count.times do |round|
        array = Crossdock::Array.zeros(1000)
        views = [Probe.get(array), Probe.get(array), Probe.get(array, 1)]
        Crossdock.view(array[10..]).transpose
        Crossdock::Array.from_string("x" * 8000).release
        Crossdock.view(Probe::Lender.new({ bytes: "y" * 100 }))
        views.first(round % 3).each(&:release)
        array.release if round.odd?
      end
      GC.start
    end
    make.call(2000)
    # The heap grows once, after what other tests have left; a leak grows in every round, by 80 MB.
    growth = ::Array.new(4) do
      before = resident
      make.call(5000)
      resident - before
    end
    assert_operator growth.min, :<, 20 << 20
  end

  def resident
    File.read("/proc/self/statm").split[1].to_i * 4096
  end

  def test_objects_say_how_much_they_take
    require "objspace"
    assert_operator ObjectSpace.memsize_of(Crossdock::Array.new([[1, 2]])), :>, 40
  end
end
