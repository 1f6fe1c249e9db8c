require "json"; a = JSON.parse(ENV["CROSSDOCK_ARRAY"], symbolize_names: true)
m = IO::Buffer.map(File.for_fd(a[:fd]), nil, 0, IO::Buffer::READONLY)
x = ->(*i) { m.get_value(a[:io_buffer].to_sym, a[:offset] + i.zip(a[:strides]).sum { _1 * _2 }) }
