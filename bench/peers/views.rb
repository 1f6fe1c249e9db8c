# Runs loops of `views.c`, as an extension of Ruby, on request over a pipe: "name count" returns nanoseconds and the sum.

require ARGV.fetch(0)

$stdout.sync = true
$stdin.each_line do |line|
  name, count = line.split
  puts Views.run(name, Integer(count)).join(" ")
end
