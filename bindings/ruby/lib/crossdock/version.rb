# frozen_string_literal: true

module Crossdock
  # That of the library.
  VERSION = "0.1.0"
end
