# frozen_string_literal: true

module Crossdock
  # The library's version.
  VERSION = "0.1.0"
end
