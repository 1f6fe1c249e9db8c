# frozen_string_literal: true

require_relative "helper"
require "open3"
require "rbconfig"

# Exchanges in situations that Ruby complicates: Ractors, collections that move objects, the end of
# the process.
class TestExchange < Test::Unit::TestCase
  LIBRARY = File.expand_path("../lib", __dir__)

  # In a separate process, which must end well, this many times.
  def run_program(program, times: 1)
    times.times do
      output, status = Open3.capture2e(RbConfig.ruby, "-W0", "-I", LIBRARY, "-e", program)
      assert_equal [true, "done\n"], [status.success?, output]
    end
  end

  def test_several_ractors_exchange_at_the_same_time
    run_program(<<~RUBY)
      require "crossdock"
      ractors = ::Array.new(3) do |number|
        Ractor.new(number) do |number|
          array = Crossdock::Array.new([1.5, 2.5, number.to_f])
          200.times do
            Crossdock.from_dlpack(array.to_dlpack).release
            Crossdock.from_arrow(array.to_arrow).release
            Crossdock.view(IO::Buffer.new(16)).release
          end
          array[2]
        end
      end
      puts ractors.map { _1.respond_to?(:value) ? _1.value : _1.take } == [0, 1, 2] ? "done" : "others"
    RUBY
  end

  def test_everything_is_exchanged_under_the_collectors_stress
    run_program(<<~RUBY)
      require "crossdock"
      require "fiddle"
      begin
        require "narray"
      rescue LoadError
        # Not every Ruby has it.
      end
      array = Crossdock::Array.new([[1.5, 2.5], [3.5, 4.5]])
      buffer, narray = IO::Buffer.new(32), (defined?(NArray) ? NArray.float(2, 2) : Crossdock::Array.zeros(2, 2))
      memory = Fiddle::Pointer.malloc(32, Fiddle::RUBY_FREE)
      GC.stress = 1 | 4
      10.times do
        back = [Crossdock.from_dlpack(array), Crossdock.from_dlpack(array.to_dlpack(legacy: true)), Crossdock.view(narray, writable: true),
                Crossdock.view(buffer, writable: true).view_as(:float64).reshape(2, 2),
                Crossdock.at_address(memory, dtype: :float64, shape: [2, 2], writable: true, owner: memory) { $given = true }]
        back.drop(2).each { |one| one[0..] = array }
        raise "others" unless back.all? { |one| one == array }
        begin
          array.to_arrow
        rescue Crossdock::Refusal
          # Tensors are exported.
        end
        back.each(&:release)
        raise "others" unless Crossdock.from_arrow(array.to_arrow(copy: true, name: "x")) == array && Crossdock.explain(buffer).include?("adapter")
      end
      GC.stress = false
      puts "done"
    RUBY
  end

  def test_what_is_on_loan_when_the_process_ends_is_left_alone
    run_program(<<~RUBY, times: 5)
      require "crossdock"
      require "fiddle"
      $kept = ::Array.new(500) do |number|
        array = Crossdock::Array.new([number] * 100)
        memory = Fiddle::Pointer.malloc(64, Fiddle::RUBY_FREE)
        [array, array.to_dlpack, array.copy.to_arrow, Crossdock.from_dlpack(array), Crossdock.view(IO::Buffer.new(64)), Crossdock.view(IO::Buffer.for("bytes \#{number}".freeze)),
         Crossdock.at_address(memory, dtype: :uint8, shape: [64], owner: memory) { raise "never at the end" }]
      end
      puts "done"
    RUBY
  end

  def test_objects_that_lend_stay_where_they_are
    run_program(<<~RUBY)
      require "crossdock"
      begin
        require "narray"
      rescue LoadError
        # Not every Ruby has it.
      end
      lent = ::Array.new(200) do |number|
        [Crossdock.view(IO::Buffer.for("buffer \#{number}".freeze)), Crossdock.view(defined?(NArray) ? NArray.int(4).fill!(number) : Crossdock::Array.full(4, number)), Crossdock::Array.new([number] * 4).to_dlpack]
      end
      5.times { GC.start; GC.compact; ::Array.new(10_000) { "x" * 30 } }
      right = lent.each_with_index.all? do |(buffer, narray, capsule), number|
        [buffer.to_binary, narray.to_a, Crossdock.from_dlpack(capsule).to_a] == ["buffer \#{number}", [number] * 4, [number] * 4]
      end
      puts right ? "done" : "others"
    RUBY
  end
end
