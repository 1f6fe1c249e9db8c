# frozen_string_literal: true

module Crossdock
  class Array
    # The array as a `Numo::NArray`, zero-copy and frozen: Numo reads the elements, also later
    # changes, and raises an error before it writes. Numo's own operators take it: `numo +
    # array.to_numo`, `numo.store(array.to_numo)`, `Numo::SFloat.cast(array.to_numo)`.
    #
    # For an NArray that Numo may write, copy the elements (`copy: :always`); or let Numo create the
    # memory, and write it as an array, by `Crossdock.view(numo, writable: true)`.
    #
    # @param copy [Boolean, Symbol] `true` permits a copy into memory of Numo's if necessary,
    #   `:always` always copies; the copy is not frozen
    # @return [Numo::NArray]
    # @raise [Refusal] for dtypes that Numo lacks, and without `copy: true` for bools (Numo packs
    #   them), byte-swapped elements, and strides that are no multiples of the element size
    # @raise [LoadError] if there is no Numo
    # @example
    #   Crossdock.open("photo.npy").to_numo.mean(0)
    def to_numo(copy: false)
      Adapters::Numo.export(self, copy)
    end

    # A `Magick::Image` of RMagick with the elements as pixels: a copy, since RMagick has its own
    # memory for pixels.
    #
    # The axes are rows, columns, and channels if there are three. The elements are `:uint8`,
    # `:uint16` or `:uint32` from 0 to their greatest value, or `:float32` or `:float64` from 0 to 1.
    #
    # @param map [String, nil] RMagick's letters for the channels: by default `"I"` (grey), `"IA"`,
    #   `"RGB"` or `"RGBA"`, by their number
    # @return [Magick::Image]
    # @raise [ArgumentError] if the shape or the dtype is that of no image
    # @raise [LoadError] if there is no RMagick
    # @example
    #   Crossdock.open("photo.npy").to_magick.write("photo.webp")
    def to_magick(map: nil)
      Adapters::RMagick.export(self, map)
    end

    # A `Vips::Image` of ruby-vips on the elements, zero-copy: libvips reads them whenever it computes
    # pixels that depend on them. The axes are rows, columns, and bands if there are three.
    #
    # @param copy [Boolean, Symbol] `true` permits a copy if the elements are not row-major without
    #   gaps, `:always` always copies
    # @return [Vips::Image]
    # @raise [ArgumentError] if the shape or the dtype is that of no image
    # @raise [LoadError] if there is no ruby-vips
    # @example
    #   Crossdock.open("photo.npy").to_vips.resize(0.5).write_to_file("photo.webp")
    def to_vips(copy: false)
      Adapters::Vips.export(self, copy)
    end

    # The address of the first element, for functions in C. Functions of Fiddle call this method for
    # an array among their arguments.
    #
    # The pointer holds a lease. With a block, the lease ends after the block; otherwise when the
    # pointer is collected.
    #
    # @param kind [Class] the class of the pointer: `FFI::Pointer`, or another class whose `new`
    #   takes an address; by default `Fiddle::Pointer`, with the size. Functions of FFI take only
    #   pointers of FFI
    # @param writable [Boolean] whether the function may write: by default if the array is writable.
    #   For memory that a consumer relies on, as a column of Arrow, pass `false` to read
    # @param strided [Boolean] whether the function knows the strides; otherwise the elements must
    #   be row-major without gaps
    # @yield [Object] the pointer
    # @return [Object] the pointer; with a block, what the block returns
    # @raise [Refusal] if the elements have gaps or another order, and if the lease is refused
    # @raise [FrozenError] for `writable: true` if the array is read-only
    # @raise [TypeError] if the class is none of pointers
    # @example
    #   qsort = Fiddle::Function.new(…)
    #   array.to_ptr { |pointer| qsort.call(pointer, array.size, array.itemsize, compare) }
    # @example With FFI
    #   LibC.attach_function(:memset, %i[pointer int size_t], :pointer)
    #   array.to_ptr(FFI::Pointer) { |pointer| LibC.memset(pointer, 0, array.nbytes) }
    def to_ptr(kind = nil, writable: !readonly?, strided: false)
      raise TypeError, "to_ptr(#{kind.inspect}): give a class of pointers, as in to_ptr(FFI::Pointer)" unless kind.nil? || kind.is_a?(Class)

      address, lease = lend_address(writable, strided)
      begin
        pointer = pointer_at(address, kind)
        return yield(pointer) if block_given?

        pointer.instance_variable_set(:@lease, lease)
        lease = nil
        pointer
      ensure
        lease&.release
      end
    end

    private

    def pointer_at(address, kind)
      return fiddle_pointer_at(address) unless kind

      pointer = begin
        kind.new(address)
      rescue ArgumentError, TypeError, NoMethodError => error
        raise TypeError, "#{kind}.new takes no address (#{error.message}): give a class of pointers, as in to_ptr(FFI::Pointer)"
      end
      return pointer if pointer.respond_to?(:to_i) || pointer.respond_to?(:address)

      raise TypeError, "an instance of #{kind} has neither to_i nor address: give a class of pointers, as in to_ptr(FFI::Pointer)"
    end

    def fiddle_pointer_at(address)
      require "fiddle" unless defined?(::Fiddle::Pointer)
      ::Fiddle::Pointer.new(address, nbytes)
    rescue Ractor::IsolationError, Ractor::UnsafeError
      raise Error, "this Ruby has Fiddle for the main Ractor only: give another class of pointers to to_ptr, or lend the memory there"
    end
  end
end
