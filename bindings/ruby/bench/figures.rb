# frozen_string_literal: true

# The gem's figures beside Ruby's own, in one process: `ruby -Ilib -Itest bench/figures.rb`. Each is
# the least of many short samples, in nanoseconds of thread time; each pair is measured in turns.
# `--record` stores the figures with the others, in `bench/record/ruby.csv`.

require "crossdock"
require "csv"
require "etc"
require "fiddle"
require "native"
require "open3"

Native.load("peers", folder: __dir__)

ROUNDS = Integer(ENV.fetch("ROUNDS", "150"))
FAST = 20_000

def clock
  start = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :float_second)
  yield
  (Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :float_second) - start) * 1e9
end

# The least figure of each, measured in turns.
def least(rounds, *measures)
  ::Array.new(rounds) { measures.map(&:call) }.transpose.map(&:min)
end

def machine
  about = File.read("/proc/cpuinfo")
  name, family, model = ["model name", "cpu family", "model"].map { |key| about[/^#{key}\s*: (.*)$/, 1] }
  "#{name} family #{family} model #{model} (#{Etc.nprocessors} cores)"
end

# The output of a command, or nothing if it cannot be run.
def output(*command)
  text, status = Open3.capture2(*command, err: File::NULL, chdir: __dir__)
  status.success? ? text.strip : ""
rescue SystemCallError
  ""
end

# The commit, followed by `+` if the sources had changed since.
def commit
  changed = output("git", "status", "--porcelain", "--untracked-files=no", "--", ":/", ":(top,exclude)bench/record")
  output("git", "rev-parse", "--short", "HEAD") + (changed.empty? ? "" : "+")
end

STEM = [Time.now.strftime("%F"), machine, commit, output("rustc", "--version"), "Ruby #{RUBY_VERSION}", "Ruby"].freeze
ROWS = []

# `reach` is in nanoseconds, or a ratio to Ruby's own figure.
def row(what, peer, ours, theirs, at_most: nil, ratio: nil)
  reach = at_most ? "<= #{at_most} ns" : ratio ? format("<= %.2f x %s", ratio, peer) : ""
  met = reach.empty? ? "" : (at_most ? ours <= at_most : ours <= ratio * theirs) ? "yes" : "no"
  puts format("%-28s %8.2f  %8.2f  %5.2f x %-26s %s %s", what, ours, theirs, ours / theirs, peer, reach, met == "no" ? "missed" : "")
  ROWS << [*STEM, peer, format("%.3f", theirs), "ns", "1.000 x #{peer}", "", ""]
  ROWS << [*STEM, what, format("%.3f", ours), "ns", format("%.3f x %s", ours / theirs, peer), reach, met]
end

def same!(what, ours, theirs)
  raise "#{what}: #{ours.inspect[0, 80]} and #{theirs.inspect[0, 80]}" unless ours == theirs
end

puts format("%-28s %8s  %8s  %5s", "ns", "ours", "Ruby's", "ratio")

array = Crossdock::Array.new(::Array.new(1000) { |number| number * 0.37 })
smallest = Peers::Smallest.new
ours, theirs = least(ROUNDS, -> { Peers.exchange(array, FAST) }, -> { Peers.exchange(smallest, FAST) })
row("get + release of an array", "get + release of the smallest C producer", ours, theirs, ratio: 1.15)

view = Fiddle::MemoryView.new(array)
1000.times { |index| same!("item #{index}", array[index], view[index]) }
loops = lambda do |object|
  lambda do
    number = 0
    clock { object[500] while (number += 1) < FAST } / FAST
  end
end
nothing = -> { number = 0; clock { nil while (number += 1) < FAST } / FAST }
ours, theirs, empty = least(ROUNDS, loops.call(array), loops.call(view), nothing)
row("array[i] of 'd'", "Fiddle::MemoryView#[]", ours - empty, theirs - empty, at_most: 25)
row("array[i] with its loop", "Fiddle::MemoryView#[] with its loop", ours, theirs)

size = 1_000_000
numbers = ::Array.new(size) { |number| number * 0.37 }
large = Crossdock::Array.new(numbers)
string = numbers.pack("d*")
same!("to_a", large.to_a, numbers)
same!("unpack", string.unpack("d*"), numbers)
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
row("to_a of 1 M doubles, each", "String#unpack, each", ours, theirs, ratio: 1 / 1.5)

if ARGV.include?("--record")
  record = File.expand_path("../../../bench/record/ruby.csv", __dir__)
  header = %w[date machine commit rustc peers table case figure unit ratios reach met]
  File.write(record, header.to_csv) unless File.exist?(record)
  File.open(record, "a") { |file| ROWS.each { |row| file.write(row.to_csv) } }
end
