# frozen_string_literal: true

require_relative "helper"
require "fiddle"
require "objspace"
require "open3"
require "tmpdir"

# Reports of the memory behind arrays to the collector, and retries after a collection.
class TestPressure < Test::Unit::TestCase
  include Helper

  # A collector that counts no bytes: everything that succeeds now does so by a retry.
  DEAF = { "RUBY_GC_MALLOC_LIMIT" => (1 << 40).to_s, "RUBY_GC_MALLOC_LIMIT_MAX" => (1 << 41).to_s, "RUBY_GC_OLDMALLOC_LIMIT" => (1 << 40).to_s,
           "RUBY_GC_OLDMALLOC_LIMIT_MAX" => (1 << 41).to_s }.freeze
  PREAMBLE = <<~'RUBY'
    def limit(resource, most)
      Process.setrlimit(resource, most, most)
    end

    def most_resident
      File.read("/proc/self/status")[/VmHWM:\s+(\d+)/, 1].to_i << 10
    end
  RUBY

  def run_program(program, env = {})
    libraries = [File.expand_path("../lib", __dir__), __dir__].map { |folder| "-I#{folder}" }
    output, status = Open3.capture2e(env, RbConfig.ruby, *libraries, "-rcrossdock", "-rtmpdir", "-rsocket", "-e", PREAMBLE + program)
    assert_predicate status, :success?, output
    output
  end

  # The bytes reported to the collector since its last run, while the block runs.
  def told
    GC.start
    GC.disable
    before = GC.stat(:malloc_increase_bytes)
    yield -> { GC.stat(:malloc_increase_bytes) - before }
  ensure
    GC.enable
  end

  MEGABYTE = 1 << 20
  SLACK = 200 << 10

  # ----- bytes

  def test_arrays_that_nobody_has_are_collected_before_memory_runs_short
    [["Crossdock::Array.zeros(1 << 20)", 600], ["Crossdock::Array.zeros(1 << 20).fill(k)", 100], ["one.copy", 100], ["one.cast(:int64)", 100],
     ["one.to_shared_memory", 100], ["Crossdock::Array.new(one)", 100], ["one[true].reshape(-1, 1).transpose.flatten(copy: true).copy", 60]].each do |make, count|
      output = run_program(<<~RUBY)
        limit(:AS, (File.read("/proc/self/statm").split[0].to_i << 12) + (450 << 20))
        one = Crossdock::Array.zeros(1 << 20)
        GC.start
        before = GC.count
        #{count}.times { |k| #{make} }
        print GC.count - before
      RUBY
      assert_operator output.to_i, :>=, count / 10, make
    end
  end

  def test_a_program_without_a_limit_keeps_few_arrays_that_nobody_has
    output = run_program("100.times { |k| Crossdock::Array.zeros(4 << 20).fill(k) }; print most_resident")
    assert_operator output.to_i, :<, 600 * MEGABYTE
  end

  def test_a_limit_of_memory_is_met_by_a_collection_and_another_attempt
    ["Crossdock::Array.zeros(1 << 20)", "one.copy", "one.cast(:int64)", "one.to_shared_memory", "Crossdock::Array.new(one)", "one.to_dlpack(copy: :always)",
     "one.to_arrow(copy: :always)", "one.share_memory(copy: true)", "Crossdock.open(file)"].each do |make|
      output = run_program(<<~RUBY, DEAF)
        limit(:AS, (File.read("/proc/self/statm").split[0].to_i << 12) + (450 << 20))
        one = Crossdock::Array.zeros(1 << 20)
        file = File.join(Dir.mktmpdir, "x.npy")
        one.save(file)
        100.times { #{make} }
        print GC.count < 60
        File.unlink(file)
      RUBY
      assert_equal "true", output, make
    end
  end

  def test_days_that_a_column_converts_are_memory_of_its_own
    require "objspace"
    days, seconds = %w[D s].map { |unit| Crossdock::Array.zeros(100_000, dtype: "datetime64[#{unit}]") }
    assert_operator ObjectSpace.memsize_of(Crossdock::Column.new(days)), :>=, 400_000
    assert_operator ObjectSpace.memsize_of(Crossdock::Column.new(seconds)), :<, 400_000, "the array counts it"
  end

  def test_what_does_not_fit_at_all_is_no_memory
    output = run_program(<<~'RUBY')
      # Room for what the collector may still find on the stack, but not for one more copy.
      limit(:AS, 2_300_000 << 10)
      one = Crossdock::Array.zeros(100 << 20, dtype: :uint8)
      many = one.cast(:float64)
      [-> { Crossdock::Array.zeros(4 << 30) }, -> { many.cast(:complex128) }, -> { many.to_dlpack(copy: :always).then { many.copy } }].each do |make|
        make.call
        print "made"
      rescue NoMemoryError
        print "no memory "
      end
      print one == Crossdock::Array.zeros(100 << 20, dtype: :uint8)
    RUBY
    assert_equal "no memory no memory no memory true", output
  end

  # The system's own error for it, `ENOMEM`, included.
  def test_shared_memory_and_files_that_do_not_fit_are_no_memory_with_the_bytes
    output = run_program(<<~'RUBY')
      one = Crossdock::Array.zeros(100 << 20, dtype: :uint8)
      file = File.join(Dir.mktmpdir, "x.npy")
      one.save(file)
      # Room for three copies, which belong to arrays that only the collector releases: it may still
      # find two of them on the stack.
      limit(:AS, (File.read("/proc/self/statm").split[0].to_i << 12) + (350 << 20))
      10.times { one.to_shared_memory.share_memory }
      GC.start
      kept = ::Array.new(3) { one.to_shared_memory }
      [-> { one.to_shared_memory }, -> { one.share_memory(copy: true) }, -> { Crossdock.open(file) }, -> { Crossdock.open_all(file) },
       -> { kept[0].share_memory.then { |shared| Crossdock::SharedMemory.import(shared.fileno, shared.description) } },
       -> { one.broadcast_to(1 << 20, 100 << 20).to_shared_memory }].each do |make|
        make.call
        puts "made"
      rescue NoMemoryError
        puts $!.message
      end
      puts one.size
      File.unlink(file)
    RUBY
    *messages, last = output.lines(chomp: true)
    assert_equal ["104857600", 6], [last, messages.size], output
    messages.each { |message| assert_match(/\b\d{9,} bytes/, message) }
  end

  # Out of memory, a comparison must raise instead of returning an answer.
  def test_a_comparison_for_which_there_is_no_memory_is_no_answer
    output = run_program(<<~'RUBY')
      a, b = Crossdock::Array.zeros(10 << 20, dtype: :uint8), Crossdock::Array.zeros(10 << 20, dtype: :float64)
      print Crossdock::Array.zeros(3) == Crossdock::Array.zeros(3, dtype: :uint8)
      limit(:AS, (File.read("/proc/self/statm").split[0].to_i << 12) + (20 << 20))
      begin
        print a == b
      rescue NoMemoryError
        print "no memory"
      end
    RUBY
    assert_equal "trueno memory", output
  end

  def test_memory_is_told_when_it_comes_and_when_it_goes
    told do |bytes|
      array = Crossdock::Array.zeros(MEGABYTE, dtype: :uint8)
      assert_in_delta MEGABYTE, bytes.call, SLACK
      copy = array.copy
      assert_in_delta 2 * MEGABYTE, bytes.call, SLACK
      array.release
      array.release
      assert_in_delta MEGABYTE, bytes.call, SLACK
      copy.release
      assert_in_delta 0, bytes.call, SLACK
    end
  end

  def test_memory_is_told_once_however_many_arrays_share_it
    array = Crossdock::Array.zeros(MEGABYTE, dtype: :uint8)
    told do |bytes|
      views = [array[1..], array.transpose, array.reshape(-1, 2), array.view_as(:int8), array.to_readonly, array.broadcast_to(2, MEGABYTE), Crossdock.view(array),
               Crossdock.from_dlpack(array), Crossdock.from_arrow(array.copy.freeze), array.to_dlpack, array.reshape(2, -1)[0]]
      assert_in_delta MEGABYTE, bytes.call, SLACK, "of the copy that Arrow has"
      views.clear
    end
  end

  # A String, or the producer of a MemoryView, reports its own memory.
  def test_memory_of_other_ruby_objects_is_theirs_to_tell
    string = ("a" * MEGABYTE).freeze
    pointer = Fiddle::Pointer[string]
    told do |bytes|
      kept = [Crossdock::Array.from_string(string), Crossdock.view(pointer), Crossdock.at_address(pointer, dtype: :uint8, shape: [MEGABYTE], owner: string)]
      assert_in_delta 0, bytes.call, SLACK
      kept << Crossdock.at_address(pointer, dtype: :uint8, shape: [MEGABYTE], owner: string) {}
      assert_in_delta MEGABYTE, bytes.call, SLACK, "what a block gives back belongs to no other object"
      assert_equal 4, kept.size
    end
  end

  def test_objects_tell_their_memory_and_each_memory_is_told_once
    array = Crossdock::Array.zeros(MEGABYTE)
    views = [array[1..], array.transpose, array.to_dlpack, Crossdock.view(array)]
    assert_in_delta 8 * MEGABYTE, ObjectSpace.memsize_of(array), 1000
    views.each { |view| assert_operator ObjectSpace.memsize_of(view), :<, 1000 }
    assert_in_delta 8 * MEGABYTE, ObjectSpace.memsize_of(array.copy), 1000
    assert_in_delta 8 * MEGABYTE, ObjectSpace.memsize_of(array.to_dlpack(copy: :always)), 1000
    assert_in_delta 8 * MEGABYTE, ObjectSpace.memsize_of(array.to_arrow(copy: :always)), 1000
    assert_in_delta 8 * MEGABYTE, ObjectSpace.memsize_of(array.share_memory(copy: true)), 1000
    views.clear
    array.release
    assert_operator ObjectSpace.memsize_of(array), :<, 1000
  end

  def test_a_view_tells_the_memory_when_the_first_array_of_it_has_gone
    array = Crossdock::Array.zeros(MEGABYTE)
    views = [array[1..], array[2..]]
    array.release
    assert_in_delta 8 * MEGABYTE, views.sum { |view| ObjectSpace.memsize_of(view) }, 1000
    views[0].release
    assert_in_delta 8 * MEGABYTE, ObjectSpace.memsize_of(views[1]), 1000
  end

  # ----- descriptors

  def test_a_limit_of_descriptors_is_met_by_a_collection_and_another_attempt
    ["Crossdock.open(file)", "Crossdock.open_all(file)", "one.to_shared_memory", "one.share_memory(copy: true)", "one.save(file)",
     "Crossdock.open(table)", "Crossdock.table(n: one).save(table)",
     "Crossdock::SharedMemory.import(shared.fileno, shared.description)", "shared.send_to(ours); Crossdock::SharedMemory.receive(theirs)"].each do |make|
      output = run_program(<<~RUBY)
        limit(:NOFILE, 128)
        one = Crossdock::Array[1, 2, 3]
        file = File.join(Dir.mktmpdir, "x.npy")
        one.save(file)
        table = File.join(File.dirname(file), "x.arrow")
        Crossdock.table(n: one).save(table)
        shared = one.to_shared_memory.share_memory
        ours, theirs = UNIXSocket.pair
        700.times { #{make} }
        print "all"
      RUBY
      assert_equal "all", output, make
    end
  end

  def test_descriptors_that_are_all_in_use_are_the_systems_error
    output = run_program(<<~'RUBY')
      limit(:NOFILE, 64)
      file = File.join(Dir.mktmpdir, "x.npy")
      Crossdock::Array[1].save(file)
      kept = []
      begin
        loop { kept << Crossdock.open(file) }
      rescue Errno::EMFILE
        print kept.size > 40, kept.last.to_a
      end
    RUBY
    assert_equal "true[1]", output
  end
end
