require "json"
a = JSON.parse(ENV["CROSSDOCK_ARRAY"], symbolize_names: true)
m = IO::Buffer.map(File.for_fd(a[:fd]), nil, 0, IO::Buffer::READONLY)
at = ->(i) { a[:offset] + i.zip(a[:strides]).sum { _1 * _2 } }
x = ->(*i) { m.get_value(a[:io_buffer].to_sym, at.(i)) }
