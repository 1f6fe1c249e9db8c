# frozen_string_literal: true

require_relative "adapters/ffi_memory"
require_relative "adapters/gsl"
require_relative "adapters/io_buffer"
require_relative "adapters/matrix"
require_relative "adapters/narray"
require_relative "adapters/numo"
require_relative "adapters/red_arrow"
require_relative "adapters/rmagick"
require_relative "adapters/vips"

module Crossdock
  # A request to an adapter, besides the object.
  class Request
    # @api private
    def initialize(writable, copy)
      @writable, @copy = writable, copy
      freeze
    end

    # @return [Boolean] whether the array must be writable
    def writable?
      @writable
    end

    # @return [Boolean] whether a copy may be made
    def copy?
      @copy ? true : false
    end

    # Reports that the adapter, or the library behind it, made a copy: every copy is counted
    # ({Crossdock.copied_bytes}).
    # @param nbytes [Integer]
    # @return [nil]
    def copied(nbytes)
      Adapters.__send__(:count_copied, nbytes)
    end

    # Refuses the request.
    # @param reason [String] one sentence, with the numbers in it
    # @param would_copy [Integer, nil] the bytes of a copy that would satisfy the request; nil if
    #   none would
    # @raise [Refusal]
    def refuse(reason, would_copy: nil)
      hint = "; a copy of #{would_copy} bytes would do (copy: true)" if would_copy
      refusal = Refusal.new("#{reason}#{hint}")
      refusal.__send__(:fill_in, { lease: writable? ? :share : :pin }, nil, would_copy)
      raise refusal
    end
  end

  # Adapters for objects that export no MemoryView: found by class, and called with the object and a
  # {Request}. They return an array or an object that exports a MemoryView, or refuse.
  #
  # Adapters for classes of other libraries are found by the name of the class, so none of these
  # libraries is required here. Registered adapters ({Crossdock.register}) take precedence.
  module Adapters
    # By the names of the classes.
    BUILT_IN = Ractor.make_shareable(
      {
        "FFI::MemoryPointer" => FFIMemory,
        "GSL::Matrix" => GSL,
        "GSL::Matrix::Complex" => GSL,
        "GSL::Matrix::Int" => GSL,
        "GSL::Vector" => GSL,
        "GSL::Vector::Complex" => GSL,
        "GSL::Vector::Int" => GSL,
        "IO::Buffer" => IOBuffer,
        "Matrix" => Matrix,
        "Vector" => Matrix,
        "NArray" => NArray,
        "Magick::Image" => RMagick,
        "Numo::NArray" => Numo,
        "Arrow::Array" => RedArrow,
        "Arrow::Buffer" => RedArrow,
        "Vips::Image" => Vips
      }
    )

    @registered = {}.freeze
    @shareable = Ractor.make_shareable({})

    class << self
      # The adapter of an object: that of its class, or of the nearest ancestor.
      # @return [#call, nil]
      def find(object)
        registered = Ractor.current == Ractor.main ? @registered : @shareable
        class_of_object = class_of(object)
        while class_of_object
          adapter = registered[class_of_object] || BUILT_IN[class_of_object.name]
          return adapter if adapter

          class_of_object = class_of_object.superclass
        end
      end

      # The name of an adapter in messages.
      # @return [String]
      def describe(adapter)
        return adapter.name.to_s if adapter.is_a?(Module)
        return "the block at #{adapter.source_location.join(":")}" if adapter.is_a?(Proc) && adapter.source_location

        "an instance of #{class_of(adapter)}"
      end

      # The result of an adapter, as an array.
      # @api private
      def adapt(adapter, object, writable, copy)
        return built_in(adapter, object, writable, copy) if BUILT_IN.value?(adapter)

        answer = adapter.call(object, Request.new(writable, copy))
        unless exporter?(answer)
          raise TypeError, "#{describe(adapter)} answered with an instance of #{class_of(answer)}, which is no array and exports no MemoryView"
        end

        # The adapter may keep its answer.
        of_exporter(answer, writable, copy)
      end

      # The result of an adapter of this gem, which returns a new array.
      # @api private
      def built_in(adapter, object, writable, copy)
        return adapter.call(object, Request.new(writable, copy)) unless copy == :always

        begin
          lent = adapter.call(object, Request.new(false, false))
        rescue Refusal
          # The adapter makes the copy itself.
          return adapter.call(object, Request.new(writable, true))
        end
        lent.copy.tap { lent.release }
      end

      # The memory of an object that exports a MemoryView, or a copy, if it is permitted.
      # @api private
      def of_exporter(object, writable, copy)
        return Crossdock.__send__(:borrow, object, false).copy if copy == :always
        return Crossdock.__send__(:borrow, object, writable) unless copy && writable

        begin
          Crossdock.__send__(:borrow, object, true)
        rescue Refusal, FrozenError
          Crossdock.__send__(:borrow, object, false).copy
        end
      end

      # An array on the bytes that a library has copied into a String, to which no other code
      # refers.
      # @api private
      def of_copy(string, request, dtype: :uint8, shape: nil, order: nil)
        request.copied(string.bytesize)
        return Array.__send__(:own_string, string, dtype, shape, order) if request.writable?

        Array.from_string(string.freeze, dtype: dtype, shape: shape, order: order)
      end

      # @api private
      def change(class_of_objects)
        unless class_of_objects.is_a?(Class) && !class_of_objects.singleton_class?
          raise TypeError, "#{class_of_objects.inspect} is no class whose objects could have an adapter"
        end

        registered = @registered.dup
        answer = yield registered
        @registered = registered.freeze
        # Methods that other Ractors may call.
        @shareable = Ractor.make_shareable(registered.select { |_, adapter| Ractor.shareable?(adapter) })
        answer
      end

      private :adopt, :count_copied, :give_back, :io_buffer_sources, :lend_numo, :lend_to_numo, :lock_io_buffer, :numo_foreign?, :numo_known?, :numo_obstacle, :numo_view?, :numo_writable?, :read_gsl, :read_narray
    end
  end

  class << self
    # The memory of an object as a checked, zero-copy array. The object is kept alive and pinned
    # while the array or a view of it exists.
    #
    # A MemoryView is requested first. Objects of other classes need an adapter: see {register}.
    #
    # @param object [Object] a {Crossdock::Array} included
    # @param writable [Boolean] whether the array must be writable; read-only memory is then
    #   refused, unless a copy is permitted
    # @param copy [Boolean, Symbol] `true` permits a copy if necessary; `:always` always copies
    # @return [Array]
    # @raise [TypeError] if the object exports no MemoryView, and its class has no adapter
    # @raise [Refusal] if its producer refuses, or a copy would be necessary
    # @raise [Error] if the producer's description contradicts itself
    # @example
    #   pixels = Crossdock.view(image)
    #   pixels[0, 0]
    def view(object, writable: false, copy: false)
      # The reasons of a column are those of its array.
      object = object.array if Column === object
      adapter = Adapters.find(object) unless Adapters.exporter?(object)
      return Adapters.adapt(adapter, object, writable, copy) if adapter

      Adapters.of_exporter(object, writable, copy)
    end

    # What an object offers, and why a request would be refused, also for objects that export no
    # MemoryView. Of a table, which of its columns are arrays in place.
    # @return [String]
    def explain(object)
      return explain_table(object) if Table === object

      text = explain_memory_view(object)
      return text if Adapters.exporter?(object)

      adapter = Adapters.find(object)
      return text unless adapter

      text = "#{text.lines.first.chomp}\n  adapter: #{Adapters.describe(adapter)}"
      begin
        offer = explain_memory_view(Adapters.adapt(adapter, object, false, false)).lines.drop(1).join
        "#{text}\n#{offer}"
      rescue StandardError => error
        "#{text}\n  refused: #{error.message}"
      end
    end

    # Registers an adapter for objects of a class and its subclasses. It is called for objects that
    # export no MemoryView. To be called from the main Ractor; other Ractors only use shareable
    # adapters.
    #
    # @param class_of_objects [Class]
    # @param adapter [#call, nil] instead of the block
    # @yieldparam object [Object]
    # @yieldparam request [Request]
    # @yieldreturn [Array, Object] an array, or an object that exports a MemoryView
    # @return [Class]
    # @raise [ArgumentError] if the class has an adapter
    # @example
    #   Crossdock.register(Photo) { |photo, _request| Crossdock::Array.from_string(photo.pixels, shape: [photo.height, photo.width, 3]) }
    def register(class_of_objects, adapter = nil, &block)
      adapter ||= block
      raise ArgumentError, "give a block, or what answers to call" unless adapter.respond_to?(:call)

      Adapters.change(class_of_objects) do |registered|
        if registered.key?(class_of_objects)
          raise ArgumentError, "#{class_of_objects} has an adapter: #{Adapters.describe(registered[class_of_objects])}"
        end
        registered[class_of_objects] = adapter
      end
      class_of_objects
    end

    # Removes the adapter of a class.
    # @return [#call, nil] the adapter, if it had one
    def unregister(class_of_objects)
      Adapters.change(class_of_objects) { |registered| registered.delete(class_of_objects) }
    end

    # @!method copied_bytes
    #   The number of bytes of array data copied since the process began. The difference of two
    #   calls is the number copied between them.
    #   @return [Integer]

    # The memory at an address as an array, for libraries that are called by Fiddle or FFI. The
    # description cannot be checked.
    #
    # @param address [Integer, Fiddle::Pointer] the address of element `[0, …]`
    # @param dtype [Symbol, String] the dtype of the elements
    # @param shape [::Array<Integer>]
    # @param strides [::Array<Integer>, nil] in bytes; by default C-contiguous (row-major)
    # @param writable [Boolean] whether it may be written
    # @param constant [Boolean] your promise that no code writes the memory, with which Arrow can
    #   import it
    # @param owner [Object] the owner of the memory: it is kept alive while the array or a view of
    #   it exists. (An `FFI::MemoryPointer` has an adapter, which also keeps it from being freed.)
    # @yield once, after the memory was last used: on a Ruby thread, outside of a collection; never
    #   at the end of the process
    # @return [Array]
    # @example
    #   memory = Fiddle::Pointer.malloc(800, Fiddle::RUBY_FREE)
    #   array = Crossdock.at_address(memory, dtype: :float64, shape: [100], writable: true, owner: memory)
    def at_address(address, dtype:, shape:, strides: nil, writable: false, constant: false, owner: nil, &block)
      raise ArgumentError, "memory that is constant cannot be writable" if writable && constant

      Adapters.__send__(:adopt, address_of(address), dtype, Kernel.Array(shape), strides, [writable, constant], owner, block)
    end

    private :explain_memory_view

    private

    def explain_table(table)
      text = "an instance of #{table.class}: "
      return "#{text}released" if table.released?

      # What is made here is released: the table may lie in the slot of a channel.
      batches = table.batches.each(&:release).size
      lines = ["#{text}#{table.size} rows of #{table.names.size} columns; batches: #{batches}"]
      lines << "  Arrow's C stream: #{offered { table.to_arrow_c_stream.release }}"
      table.columns.each do |column|
        lines << "  #{column.name.inspect}, #{column.type}: #{offered { column.array.release }}"
        column.release
      end
      lines.join("\n")
    end

    def offered
      yield
      "in place"
    rescue Error, TypeError => error
      "refused: #{error.message}"
    end
  end
end
