# Asked over a pipe for loops of `views.c`, as an extension of Ruby: "name count" is answered by nanoseconds and the sum.

require ARGV.fetch(0)

$stdout.sync = true
$stdin.each_line do |line|
  name, count = line.split
  puts Views.run(name, Integer(count)).join(" ")
end
