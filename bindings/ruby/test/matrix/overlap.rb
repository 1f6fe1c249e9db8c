# frozen_string_literal: true

module HandOvers
  # The same memory imported twice, by every pair of importers: an assignment from one array to the
  # other must give the same result as from a copy made before.
  module Overlap
    LENGTH = 96
    SHAPE = [LENGTH, LENGTH].freeze
    BYTES = LENGTH * LENGTH * 2
    ROWS = ::Array.new(LENGTH) { |row| ::Array.new(LENGTH) { |column| 1 + row * LENGTH + column } }.freeze
    BASE = ROWS.flatten.pack("s*").freeze

    # The effect of each operation on two arrays over one memory, and on nested Arrays that share
    # nothing.
    OPERATIONS = {
      "a shift forwards" => [->(x, y) { x.flatten[1..] = y.flatten[..-2] }, ->(a) { flat(a) { |all| [all[0], *all[..-2]] } }],
      "a shift backwards" => [->(x, y) { x.flatten[..-2] = y.flatten[1..] }, ->(a) { flat(a) { |all| [*all[1..], all[-1]] } }],
      "rows, one further down" => [->(x, y) { x[1..] = y[..-2] }, ->(a) { [a[0], *a[..-2]] }],
      "rows backwards" => [->(x, y) { x[true] = y[(-1..0) % -1] }, ->(a) { a.reverse }],
      "both axes backwards" => [->(x, y) { x[true] = y[(-1..0) % -1, (-1..0) % -1] }, ->(a) { a.reverse.map(&:reverse) }],
      "a transposition" => [->(x, y) { x[true] = y.transpose }, ->(a) { a.transpose }],
      "one row everywhere" => [->(x, y) { x[true] = y[LENGTH / 2] }, ->(a) { a.map { a[LENGTH / 2] } }],
      "another byte order" => [->(x, y) { x.flatten[1..] = y.flatten.view_as(:">int16")[..-2] },
                               ->(a) { flat(a) { |all| [all[0], *all[..-2].pack("s*").unpack("s>*")] } }],
      "a conversion" => [->(x, y) { x.flatten[..-2] = y.flatten.view_as(:uint16)[1..] }, ->(a) { flat(a) { |all| [*all[1..], all[-1]] } }],
      "two columns that change places" => [->(x, y) { x[true, 0..1] = y[true, (1..0) % -1] }, ->(a) { a.map { |row| [row[1], row[0], *row[2..]] } }],
      "columns of every second row" => [->(x, y) { x[(0..) % 2, 1..] = y[(0..) % 2, ..-2] },
                                        ->(a) { a.each_with_index.map { |row, at| at.even? ? [row[0], *row[..-2]] : row } }]
    }.freeze

    def self.flat(rows)
      (yield rows.flatten).each_slice(LENGTH).to_a
    end

    EXPECTED = OPERATIONS.transform_values { |_, naive| naive.call(ROWS).flatten.pack("s*") }.freeze

    # Memory at an address of this process, its owner, and importers that know the memory by more
    # than its address.
    Memory = Struct.new(:address, :keep, :own, keyword_init: true)

    module_function

    def lender(address)
      Probe::Lender.new({ address: address, byte_size: BYTES, format: "s", item_size: 2, ndim: 2, shape: SHAPE })
    end

    def tensor(address, legacy)
      numbers = Importers.memory([*SHAPE, LENGTH, 1].pack("q*"))
      tensor = [address, 1, 0, 2, 0, 16, 1, Importers.start(numbers), Importers.start(numbers) + 16, 0].pack("Ql2lCCSQQQ")
      struct = Importers.memory(legacy ? tensor + [0, 0].pack("QQ") : [1, 3, 0, 0, 0].pack("LLQQQ") + tensor)
      capsule = Crossdock::DLPack.new(Importers.start(struct), legacy: legacy, owner: [numbers, struct])
      Crossdock.from_dlpack(capsule, writable: legacy)
    end

    # By the memory at an address, of any owner.
    BY_ADDRESS = {
      "MemoryView, by `Crossdock.view`" => ->(address) { Crossdock.view(lender(address), writable: true) },
      "MemoryView of a Fiddle::Pointer" => ->(address) { Crossdock.view(Fiddle::Pointer.new(address, BYTES)).view_as(:int16).reshape(SHAPE) },
      "an address" => ->(address) { Crossdock.at_address(address, dtype: :int16, shape: SHAPE, writable: true) },
      "DLPack" => ->(address) { tensor(address, false) },
      "DLPack before 1.0" => ->(address) { tensor(address, true) },
      "Arrow's C structs" => ->(address) { Importers.columns(address, SHAPE).array }
    }.freeze

    def string
      # A copy would have the same bytes until it is written.
      string = String.new(capacity: BYTES + 64) << BASE
      Memory.new(address: Fiddle::Pointer[string].to_i, keep: string,
                 own: { "a String" => -> { Crossdock::Array.from_string(string, dtype: :int16, shape: SHAPE) } })
    end

    def io_buffer
      buffer = IO::Buffer.new(BYTES + 64)
      array = -> { Crossdock.view(buffer.slice(64, BYTES), writable: true).view_as(:int16).reshape(SHAPE) }
      Memory.new(address: buffer.inspect[/0x\h+/].hex + 64, keep: buffer, own: { "`IO::Buffer`" => array })
    end

    def narray
      narray = NArray.sint(*SHAPE)
      address, = Crossdock::Adapters.__send__(:read_narray, narray, narray.rank, narray.total)
      Memory.new(address: address, keep: narray, own: { "NArray" => -> { Crossdock.view(narray, writable: true).transpose } })
    end

    def numo
      narray = ::Numo::Int16.zeros(*SHAPE)
      array = Crossdock.view(narray, writable: true)
      Memory.new(address: array.address, keep: [narray, array], own: { "Numo" => -> { Crossdock.view(narray, writable: true) } })
    end

    # A file with a header of 128 bytes, which is shared memory, too: each importer maps it
    # separately.
    def file
      path = File.join(Importers.folder, "overlap.npy")
      Crossdock::Array.zeros(*SHAPE, dtype: :int16).save(path)
      array = Crossdock.open(path, writable: true)
      text = "offset=128; access=write; shape=#{SHAPE.join(",")}; strides=#{LENGTH * 2},2; dtype=<i2"
      open = File.open(path, "r+b")
      Memory.new(address: array.address, keep: [array, open],
                 own: { "`.npy`" => -> { Crossdock.open(path, writable: true) }, "shared memory" => -> { Crossdock::SharedMemory.import(open, text) } })
    end

    def shared_memory
      array = Crossdock::Array.zeros(*SHAPE, dtype: :int16).to_shared_memory
      shared = array.share_memory(writable: true)
      Memory.new(address: array.address, keep: [array, shared],
                 own: { "shared memory" => -> { Crossdock::SharedMemory.import(shared.fileno, shared.description) }, "an array of our own" => -> { array } })
    end

    def our_own
      array = Crossdock::Array.zeros(*SHAPE, dtype: :int16)
      Memory.new(address: array.address, keep: array,
                 own: { "an array of our own" => -> { array }, "our own, back by DLPack" => -> { Crossdock.from_dlpack(array) },
                        "our own, back by Arrow" => -> { Crossdock.from_arrow(array) } })
    end

    MEMORIES = [method(:our_own), method(:string), method(:io_buffer), method(:narray), *(method(:numo) if defined?(::Numo)), method(:shared_memory), method(:file)].freeze
    ROADS = [*BY_ADDRESS.keys, "a String", "`IO::Buffer`", "NArray", *("Numo" if defined?(::Numo)), "shared memory", "`.npy`", "an array of our own", "our own, back by DLPack",
             "our own, back by Arrow"].freeze

    # Memory that both importers can import.
    def memory_of(*names)
      MEMORIES.each do |make|
        memory = make.call
        return memory if names.all? { |name| BY_ADDRESS.key?(name) || memory.own.key?(name) }
      end
      nil
    end

    def bring(memory, name)
      memory.own.key?(name) ? memory.own[name].call : BY_ADDRESS.fetch(name).call(memory.address)
    end

    # Runs all operations: `yield`s the name of an operation, the expected result, and the actual
    # one.
    def verdict(target, source)
      memory = memory_of(target, source)
      return Verdict.new(:cannot_say, "no memory that both can have") unless memory

      # The read-only one is imported last.
      x = bring(memory, target)
      return Verdict.new(:refused, "it is lent to be read") if x.readonly?

      y = bring(memory, source)
      OPERATIONS.each do |name, (operation, _)|
        x[true] = Crossdock::Array.from_string(BASE, dtype: :int16, shape: SHAPE)
        raise "the two importers of #{target} and #{source} have not one memory" unless y.to_binary == BASE

        operation.call(x, y)
        yield "#{name}: #{target} from #{source}", EXPECTED[name], x.to_binary
      end
      Verdict.new(:right)
    rescue Crossdock::Error => error
      Verdict.new(:refused, error.message)
    end

    def table
      ROADS.to_h { |target| [target, ROADS.to_h { |source| [source, yield(target, source)] }] }
    end
  end
end
