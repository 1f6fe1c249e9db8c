# frozen_string_literal: true

require_relative "crossdock/version"

# Arrays that change hands without being copied.
#
# {Crossdock::Array} is an n-dimensional array that lends its memory to whoever asks for a MemoryView; {Crossdock.view} borrows that of whichever
# object exports one.
module Crossdock
  # Whatever the library refuses, and no exception of Ruby's own says: `IndexError`, `ArgumentError`, `TypeError`, `FrozenError`,
  # `RangeError` and `NoMemoryError` mean what they mean elsewhere.
  class Error < StandardError
  end

  # A hand-over that did not happen: what was asked, what was on offer, and how many bytes a copy would take that would do.
  class Refusal < Error
    # @return [Hash{Symbol => Object}, nil] what was asked: `lease`, and where they were asked for `order` and `dtype`
    attr_reader :asked
    # @return [Hash{Symbol => Object}, nil] what was on offer: `dtype`, `shape`, `strides`, `readonly`
    attr_reader :offer
    # @return [Integer, nil] the bytes of a copy that would do; nil where none would
    attr_reader :would_copy

    # @api private
    def fill_in(asked, offer, would_copy)
      @asked, @offer, @would_copy = asked, offer, would_copy
    end
    private :fill_in
  end
end

require "crossdock/crossdock"
require_relative "crossdock/transient"
require_relative "crossdock/array"
require_relative "crossdock/shared_memory"
require_relative "crossdock/dlpack"
require_relative "crossdock/arrow"
require_relative "crossdock/adapters"

module Crossdock
  class << self
    # The one array of a file: `.npy`, `.npz`, `.safetensors`, PNG or JPEG, told apart by the first bytes. In place, mapped, where the elements
    # lie in the file as they are.
    #
    # @param path [String, Pathname]
    # @param writable [Boolean] whether the array, and with it the file, is to be written
    # @param guarded [Boolean] whether a file that shrinks while it is mapped is to be an error rather than the end of the process
    # @yield [Array] the array, whose memory is given back behind the block, unless others have it
    # @return [Array] without a block
    def open(path, writable: false, guarded: false)
      array = open_file(File.path(path), writable, guarded)
      return array unless block_given?

      begin
        yield array
      ensure
        array.release
      end
    end

    # All arrays of a file, by their names.
    # @return [Hash{String => Array}]
    def open_all(path, writable: false, guarded: false)
      open_all_in(File.path(path), writable, guarded)
    end

    # Where the headers `crossdock.h` and `crossdock/ruby.h` are, for an `extconf.rb`.
    # @return [String]
    # @example
    #   $INCFLAGS << " -I#{Crossdock.include_dir}"
    def include_dir
      File.expand_path("../include", __dir__)
    end

    private :borrow, :open_file, :open_all_in
  end
end
