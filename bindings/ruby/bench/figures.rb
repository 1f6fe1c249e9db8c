# frozen_string_literal: true

# What the gem takes beside Ruby's own, in one process: `ruby -Ilib -Itest bench/figures.rb`. The least of many short samples, in nanoseconds
# of the thread; each pair is measured in turns.

require "crossdock"
require "fiddle"
require "native"

Native.load("peers", folder: __dir__)

ROUNDS = Integer(ENV.fetch("ROUNDS", "150"))
FAST = 20_000

def clock
  start = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :float_second)
  yield
  (Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :float_second) - start) * 1e9
end

# The least of each, by turns.
def least(rounds, *measures)
  ::Array.new(rounds) { measures.map(&:call) }.transpose.map(&:min)
end

def row(what, ours, theirs, reach)
  puts format("%-42s %8.2f  %8.2f  %5.2f   %s", what, ours, theirs, ours / theirs, reach)
end

puts format("%-42s %8s  %8s  %5s   %s", "ns", "ours", "Ruby's", "ratio", "reach")

array = Crossdock::Array.new(::Array.new(1000) { |number| number * 0.37 })
smallest = Peers::Smallest.new
ours, theirs = least(ROUNDS, -> { Peers.exchange(array, FAST) }, -> { Peers.exchange(smallest, FAST) })
row("get + release (the smallest C producer)", ours, theirs, "1.15")

view = Fiddle::MemoryView.new(array)
loops = lambda do |object|
  lambda do
    number = 0
    clock { object[500] while (number += 1) < FAST } / FAST
  end
end
nothing = -> { number = 0; clock { nil while (number += 1) < FAST } / FAST }
ours, theirs, empty = least(ROUNDS, loops.call(array), loops.call(view), nothing)
row("array[i] of 'd' (Fiddle::MemoryView)", ours - empty, theirs - empty, "25 ns, with bounds checked")
row("  with the loop around it", ours, theirs, "")

size = 1_000_000
numbers = ::Array.new(size) { |number| number * 0.37 }
large = Crossdock::Array.new(numbers)
string = numbers.pack("d*")
numbers = nil
GC.start
collected = lambda do |work|
  lambda do
    GC.start
    GC.disable
    clock(&work) / size
  ensure
    GC.enable
  end
end
ours, theirs = least(10, collected.call(-> { large.to_a }), collected.call(-> { string.unpack("d*") }))
row("to_a of 1 M doubles (String#unpack), each", ours, theirs, "0.67")
