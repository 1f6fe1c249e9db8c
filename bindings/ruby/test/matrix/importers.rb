# frozen_string_literal: true

require "fiddle"

module HandOvers
  # The producer has no such data.
  class CannotSay < StandardError
  end

  # The result of an importer, which knows whether a copy is permitted: the array, and the
  # producer's address of its first element; or a block that writes that element's first byte at the
  # producer, if addresses mean nothing.
  Brought = Struct.new(:array, :address, :write, :keep, keyword_init: true)

  # The importers of the gem: each builds the producer's type from a specimen, and imports it as an
  # array.
  module Importers
    class << self
      # The folder of files.
      attr_accessor :folder
    end

    module_function

    def cannot(reason)
      raise CannotSay, reason
    end

    def memory(bytes)
      Fiddle::Pointer.malloc(bytes.bytesize + 64, Fiddle::RUBY_FREE).tap do |pointer|
        # As far behind a multiple of 64 as the specimen says.
        aligned = Fiddle::Pointer.new((pointer.to_i + 63) / 64 * 64)
        aligned[0, bytes.bytesize] = bytes unless bytes.empty?
        pointer.instance_variable_set(:@aligned, aligned)
      end
    end

    def start(pointer)
      pointer.instance_variable_get(:@aligned).to_i
    end

    def memory_view(one, _copy)
      lender = Probe::Lender.new(
        { bytes: one.indirect ? table_of(one) : one.bytes, format: one.format, item_size: one.itemsize, ndim: one.shape.size, shape: one.shape,
          strides: one.indirect ? [8, 2] : one.strides, sub_offsets: one.indirect ? [0, -1] : nil, offset: one.offset, readonly: one.readonly,
          byte_size: one.shape.inject(one.itemsize, :*) }
      )
      3.times { |row| lender.point(8 * row, 24 + 8 * row) } if one.indirect
      # An array has its own table of pointers to the rows.
      write = ->(byte) { lender.poke(24, byte.ord) } if one.indirect
      Brought.new(array: Crossdock.view(lender, writable: !one.readonly), address: Probe.get(lender).fields[:data], write: write)
    end

    # Three pointers to rows, and the rows.
    def table_of(one)
      "\0" * 24 + one.bytes
    end

    def at_address(one, _copy)
      cannot("no tables of pointers") if one.indirect
      pointer = memory(one.bytes)
      address = start(pointer) + one.offset
      array = Crossdock.at_address(address, dtype: one.dtype, shape: one.shape, strides: one.strides, writable: !one.readonly, owner: pointer)
      Brought.new(array: array, address: address)
    end

    def frozen_string(one, _copy)
      cannot("elements without gaps, from the first byte on") unless one.row_major? || one.column_major?
      string = one.bytes.dup.freeze
      order = one.column_major? ? :column_major : :row_major
      array = Crossdock::Array.from_string(string, dtype: one.dtype, shape: one.shape, order: order)
      Brought.new(array: array, address: Fiddle::Pointer[string].to_i)
    end

    def io_buffer(one, _copy)
      cannot("bytes in one row") unless one.row_major? || one.name == "unaligned"
      cannot("a buffer has a size") if one.bytes.empty?
      root = IO::Buffer.new(one.bytes.bytesize)
      root.set_string(one.bytes)
      buffer = one.offset.zero? ? root : root.slice(one.offset, one.bytes.bytesize - one.offset)
      array = Crossdock.view(buffer, writable: !one.readonly).view_as(one.dtype).reshape(one.shape)
      # Ruby prints the address of a buffer.
      Brought.new(array: array, address: buffer.inspect[/0x\h+/].hex, keep: root)
    end

    def narray(one, _copy)
      cannot("numbers in the machine's byte order") unless one.number?
      cannot("the first axis is the fastest") unless one.column_major? || (one.shape.size == 1 && one.row_major?)
      narray = NArray.to_na(one.bytes, NArray::SINT, *one.shape)
      address, = Crossdock::Adapters.__send__(:read_narray, narray, narray.rank, narray.total)
      Brought.new(array: Crossdock.view(narray, writable: true), address: address)
    end

    def numo(one, _copy)
      cannot("numbers at addresses that are aligned for them") unless one.dtype == ">i2" || (one.number? && one.name != "unaligned" && !one.strides.any?(&:odd?))
      cannot("no tables of pointers") if one.indirect
      cannot("no repeated elements") if one.name == "zero strides"
      root = numo_root(one)
      bytes = one.bytes.ljust(root.byte_size, "\xee".b)
      root.store_binary(+bytes) unless bytes.empty?
      array = Crossdock.view(numo_view(one, root), writable: !one.readonly)
      # `store_binary` writes into the memory of an NArray.
      write = ->(byte) { root.store_binary(bytes.dup.tap { |changed| changed[one.offset] = byte }) }
      Brought.new(array: array, write: write, keep: root)
    end

    # An NArray on whose elements those of a specimen lie.
    def numo_root(one)
      shape =
        case one.name
        when "column-major" then one.shape.reverse
        when "gaps" then [3, 10]
        else one.shape
        end
      ::Numo::Int16.zeros(*shape).then { |root| one.dtype == ">i2" ? root.to_swapped : root }
    end

    def numo_view(one, root)
      case one.name
      when "column-major" then root.transpose
      when "gaps" then root[true, (0..6).step(2)]
      when "negative strides" then root.reverse(0)
      when "read-only" then root.view.freeze
      else root
      end
    end

    def rmagick(one, copy)
      cannot("pixels, which RMagick lays out itself") unless one.number? && one.row_major? && one.shape.size == 2
      cannot("an image has a pixel") if one.bytes.empty?
      image = Magick::Image.new(one.shape[1], one.shape[0]).quantize(2, Magick::GRAYColorspace)
      image.import_pixels(0, 0, one.shape[1], one.shape[0], "I", one.bytes, Magick::ShortPixel)
      array = Crossdock.view(image, copy: copy)
      Brought.new(array: array[true, true, 0].view_as(:int16), address: 0, keep: image)
    end

    def dlpack(one, _copy, legacy: false)
      cannot("no such type of elements") unless one.number?
      cannot("strides are whole numbers of elements") if one.strides.any?(&:odd?)
      cannot("no tables of pointers") if one.indirect
      pointer = memory(one.bytes)
      numbers = memory((one.shape + one.strides.map { |stride| stride / 2 }).pack("q*"))
      address = one.bytes.empty? ? 0 : start(pointer) + one.offset
      tensor = [address, 1, 0, one.shape.size, 0, 16, 1, start(numbers), start(numbers) + 8 * one.shape.size, 0].pack("Ql2lCCSQQQ")
      struct = memory(legacy ? tensor + [0, 0].pack("QQ") : [1, 3, 0, 0, one.readonly ? 1 : 0].pack("LLQQQ") + tensor)
      capsule = Crossdock::DLPack.new(start(struct), legacy: legacy, owner: [pointer, numbers, struct])
      Brought.new(array: Crossdock.from_dlpack(capsule, writable: legacy && !one.readonly), address: address)
    end

    def arrow(one, _copy)
      cannot("no such type of elements") unless one.number?
      cannot("elements without gaps, axis 0 the slowest") unless one.row_major? || one.name == "unaligned"
      cannot("a column has a length") if one.shape.empty?
      pointer = memory(one.bytes)
      columns(start(pointer) + one.offset, one.shape, [pointer])
    end

    # A column of int16 at an address: a fixed-size list if it has two axes.
    def columns(data, shape, kept = [])
      keep = ->(bytes) { start(memory(bytes).tap { |pointer| kept << pointer }) }
      # The release function marks the struct, and has nothing to free.
      mark = lambda do |offset|
        closure = Class.new(Fiddle::Closure) { define_method(:call) { |struct| Fiddle::Pointer.new(struct)[offset, 8] = "\0" * 8 } }
        kept << closure.new(Fiddle::TYPE_VOID, [Fiddle::TYPE_VOIDP])
        kept.last.to_i
      end
      schema = ->(format, children) { keep[[keep["#{format}\0"], keep["\0"], 0, 0, children.size, keep[children.pack("Q*")], 0, mark[56], 0].pack("Q9")] }
      array = lambda do |length, buffers, children|
        keep[[length, 0, 0, buffers.size, children.size, keep[buffers.pack("Q*")], keep[children.pack("Q*")], 0, mark[64], 0].pack("q5Q5")]
      end
      schemas, arrays = [schema["s", []]], [array[shape.inject(:*), [0, data], []]]
      schemas, arrays = [schema["+w:#{shape[1]}", schemas]], [array[shape[0], [0], arrays]] if shape.size == 2
      taken = Crossdock.from_arrow(Crossdock::ArrowColumn.new(schemas[0], arrays[0], owner: kept))
      Brought.new(array: taken, address: data, keep: kept)
    end

    def shared_memory(one, _copy)
      cannot("no tables of pointers") if one.indirect
      descriptor = Fiddle::Function.new(Fiddle.dlopen(nil)["memfd_create"], [Fiddle::TYPE_VOIDP, Fiddle::TYPE_INT], Fiddle::TYPE_INT).call("matrix", 1)
      memory = IO.for_fd(descriptor, "r+b")
      memory.pwrite(one.bytes.empty? ? "\0" : one.bytes, 0)
      text = "offset=#{one.offset}; access=#{one.readonly ? "read" : "write"}; shape=#{one.shape.join(",")}; " \
             "strides=#{one.strides.join(",")}; dtype=#{one.descr}"
      Brought.new(array: Crossdock::SharedMemory.import(memory, text), write: ->(byte) { memory.pwrite(byte, one.offset) }, keep: memory)
    end

    def npy_file(one, _copy)
      cannot("elements without gaps, aligned by the format") unless one.row_major? || one.column_major?
      shape = "(#{one.shape.map { |length| "#{length}," }.join(" ")})"
      descr = one.descr.start_with?("[") ? one.descr : "'#{one.descr}'"
      header = "{'descr': #{descr}, 'fortran_order': #{one.column_major? ? "True" : "False"}, 'shape': #{shape}, }"
      header = "#{header.ljust(117)}\n"
      path = File.join(Importers.folder, "#{one.name.tr(" ", "-")}.npy")
      File.binwrite(path, "\x93NUMPY\x01\0".b + [header.size].pack("S<") + header + one.bytes)
      Brought.new(array: Crossdock.open(path, writable: !one.readonly), write: ->(byte) { File.open(path, "r+b") { |file| file.pwrite(byte, 128) } })
    end

    ALL = {
      "MemoryView, by `Crossdock.view`" => method(:memory_view),
      "an address" => method(:at_address),
      "a frozen String" => method(:frozen_string),
      "`IO::Buffer`" => method(:io_buffer),
      "NArray" => method(:narray),
      **(defined?(::Numo) ? { "Numo" => method(:numo) } : {}),
      "RMagick" => method(:rmagick),
      "DLPack" => method(:dlpack),
      "DLPack before 1.0" => ->(one, copy) { dlpack(one, copy, legacy: true) },
      "Arrow's C structs" => method(:arrow),
      "shared memory" => method(:shared_memory),
      "`.npy`" => method(:npy_file)
    }.freeze
  end
end
