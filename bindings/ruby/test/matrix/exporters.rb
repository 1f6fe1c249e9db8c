# frozen_string_literal: true

module HandOvers
  # A consumer's result: the address of the first element, unless addresses mean nothing; the
  # elements' bytes as it reads them; and the release.
  Got = Struct.new(:address, :elements, :give_back, keyword_init: true)

  # The exporters of the gem, each with a consumer that reads the result by itself.
  module Exporters
    FORMAT, STRIDES, INDIRECT = 2, 12, 76

    module_function

    def read(address, nbytes)
      nbytes.zero? ? "" : Fiddle::Pointer.new(address)[0, nbytes]
    end

    # Elements at strides, behind pointers if there are suboffsets.
    def elements(address, shape, strides, itemsize, suboffsets = nil)
      HandOvers.indices(shape).map do |index|
        place = address
        index.each_with_index do |position, axis|
          place += position * strides[axis]
          place = read(place, 8).unpack1("Q") + suboffsets[axis] if suboffsets && suboffsets[axis] >= 0
        end
        read(place, itemsize)
      end
    end

    def memory_view(array, _copy, flags)
      view = Probe.get(array, flags)
      raise Crossdock::Refusal, "the producer gives no view for these flags" unless view

      data, shape, strides, itemsize, suboffsets = view.fields.values_at(:data, :shape, :strides, :item_size, :sub_offsets)
      address = suboffsets ? read(data, 8).unpack1("Q") : data
      Got.new(address: address, elements: elements(data, shape, strides, itemsize, suboffsets), give_back: -> { view.release })
    end

    def dlpack(array, copy, legacy)
      capsule = array.to_dlpack(copy: copy, legacy: legacy)
      tensor = Fiddle::Pointer.new(capsule.address)[legacy ? 0 : 32, 48]
      data, _device, _id, ndim, _code, bits, _lanes, shape, strides, offset = tensor.unpack("Ql2lCCSQQQ")
      shape, strides = [shape, strides].map { |pointer| read(pointer, 8 * ndim).unpack("q*") }
      got = elements(data + offset, shape, strides.map { |stride| stride * bits / 8 }, bits / 8)
      Got.new(address: data + offset, elements: got, give_back: -> { capsule.release })
    end

    def arrow(array, copy)
      column = array.to_arrow(copy: copy)
      Got.new(**read_arrow(column.schema, column.array), give_back: -> { column.release })
    end

    WIDTHS = { "c" => 1, "C" => 1, "s" => 2, "S" => 2, "i" => 4, "l" => 8, "g" => 8 }.freeze

    # The elements of a column, one after another; for a struct, those of its rows.
    def read_arrow(schema, array)
      format = Fiddle::Pointer.new(read(schema, 8).unpack1("Q")).to_s
      length, _nulls, offset, _count, children, buffers, below = read(array, 56).unpack("q5QQ")
      schemas = read(read(schema, 56)[40, 8].unpack1("Q"), 8 * children).unpack("Q*")
      arrays = read(below, 8 * children).unpack("Q*")
      return read_arrow(schemas[0], arrays[0]) if format.start_with?("+w")

      if format == "+s"
        columns = schemas.zip(arrays).map { |pair| read_arrow(*pair) }
        return { address: columns[0][:address], elements: columns.map { |column| column[:elements] }.transpose.map(&:join) }
      end
      width = WIDTHS.fetch(format)
      data = read(buffers, 16)[8, 8].unpack1("Q") + offset * width
      { address: data, elements: Array.new(length) { |at| read(data + at * width, width) } }
    end

    # A process that maps the descriptor by itself, as this one does here.
    def shared_memory(array, copy, writable)
      shared = array.share_memory(writable: writable, copy: copy ? true : false)
      said = shared.description.split("; ").to_h { |field| field.split("=", 2) }
      numbers = ->(name) { said[name].split(",").map(&:to_i) }
      io = IO.for_fd(shared.fileno, autoclose: false)
      itemsize = array.itemsize
      got = HandOvers.indices(numbers["shape"]).map { |index| io.pread(itemsize, said["offset"].to_i + HandOvers.at(index, numbers["strides"])) }
      Got.new(elements: got, give_back: -> { shared.close })
    end

    # The elements as Numo reads them.
    def numo(array, copy)
      narray = array.to_numo(copy: copy)
      order = array.dtype.to_s.start_with?(">") ? "s>" : "s"
      elements = [narray.to_a].flatten.map { |number| [number].pack(order) }
      Got.new(address: narray.empty? ? nil : Crossdock.view(narray).address, elements: elements, give_back: -> {})
    end

    ALL = {
      "MemoryView" => ->(array, copy) { memory_view(array, copy, FORMAT | STRIDES) },
      "MemoryView, indirect" => ->(array, copy) { memory_view(array, copy, FORMAT | INDIRECT) },
      "DLPack" => ->(array, copy) { dlpack(array, copy, false) },
      "DLPack before 1.0" => ->(array, copy) { dlpack(array, copy, true) },
      "Arrow's C structs" => ->(array, copy) { arrow(array, copy) },
      **(defined?(::Numo) ? { "Numo" => ->(array, copy) { numo(array, copy) } } : {}),
      "shared memory, to read" => ->(array, copy) { shared_memory(array, copy, false) },
      "shared memory, to write" => ->(array, copy) { shared_memory(array, copy, true) }
    }.freeze

    # An array of this library with a specimen's layout; nil if Ruby can only make one by an import.
    def own(one)
      array =
        case one.name
        when "row-major", "read-only", "0-d", "empty", "other byte order", "records" then Crossdock::Array.zeros(one.shape, dtype: one.dtype)
        when "column-major" then Crossdock::Array.zeros(one.shape, dtype: one.dtype, order: :column_major)
        when "gaps" then Crossdock::Array.zeros(3, 10, dtype: one.dtype)[true, (0..6).step(2)]
        when "negative strides" then Crossdock::Array.zeros(3, 4, dtype: one.dtype)[(2..).step(-1)]
        when "zero strides" then Crossdock::Array.zeros(1, 4, dtype: one.dtype)
        when "unaligned" then Crossdock::Array.zeros(25, dtype: :uint8)[1..].view_as(one.dtype).reshape(one.shape)
        when "field of packed records" then Crossdock::Array.zeros(4, dtype: "[('price', '<i2'), ('kind', '|u1')]").field(:price)
        when "suboffsets" then return Importers.memory_view(one, false).array
        end
      source = Crossdock::Array.from_string(one.expected.join.freeze, dtype: one.dtype, shape: one.shape)
      one.name == "zero strides" ? array[0] = source[0] : fill(array, source)
      array = array.broadcast_to(one.shape) if one.name == "zero strides"
      one.readonly ? array.to_readonly : array
    end

    def fill(array, source)
      source.shape.empty? ? array[] = source[] : array[0..] = source
    end
  end
end
