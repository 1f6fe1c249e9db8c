# frozen_string_literal: true

module HandOvers
  # The result of a transfer: `:in_place`, `:copies`, `:refused` or `:cannot_say`, and the reason.
  Verdict = Struct.new(:kind, :why) do
    # The worse of two results.
    def worse(other)
      [self, other].max_by { |one| %i[in_place copies refused cannot_say].index(one.kind) }
    end

    def goes?
      %i[in_place copies].include?(kind)
    end
  end

  # The section of the page about a run.
  module Page
    FILE = File.expand_path("../../../../docs/evidence/matrix.md", __dir__)
    HEADING = "\n## In Ruby\n"
    WORDS = { in_place: "in place", copies: "copies", refused: "refused", cannot_say: "–", right: "right" }.freeze
    RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹".chars.freeze

    module_function

    def section(imports, exports, pairs, twice)
      classes = SPECIMENS.map(&:name)
      ways = pairs.values.flat_map(&:values)
      <<~MARKDOWN
        #{HEADING.strip}

        The importers and exporters of the gem, over the same classes, with elements of `int16`. Each has its own counterpart: a producer and a
        consumer in C of Ruby's MemoryView, structs that were assembled byte by byte, the libraries themselves. Device memory is not included,
        and only foreign producers have rows behind pointers. A test of the gem writes this section (`bindings/ruby/test/test_matrix.rb`).

        What comes in:

        #{table("importer", imports, classes)}
        What goes out, of Crossdock's arrays:

        #{table("exporter", exports, classes)}
        From each to each, of row-major data; NArray has column-major data only:

        #{table("from \\ to", pairs, Exporters::ALL.keys)}
        Of #{ways.size} ways from each to each, #{ways.count { |one| one.kind == :in_place }} are in place, #{ways.count { |one| one.kind == :copies }} copy, and #{ways.count { |one| one.kind == :refused }} are refused.

        The same memory, imported by the importers of the row and of the column: the first array is assigned from the second, shifted,
        backwards, transposed, converted, byte-swapped, with columns swapped (#{Overlap::OPERATIONS.size} ways). A cell is right if every
        result equals that of an earlier copy:

        #{table("to \\ from", twice, Overlap::ROADS)}
        RMagick copies, so its memory is never imported. A file that a program maps by itself (`IO::Buffer.map`) is only an address: the library does
        not know the owner of its bytes.
      MARKDOWN
    end

    # A table, and the reasons in it, numbered in order of appearance.
    def table(corner, rows, columns)
      reasons = []
      text = +"| #{corner} | #{columns.join(" | ")} |\n|#{"---|" * (columns.size + 1)}\n"
      rows.each do |name, cells|
        text << "| #{name} | #{columns.map { |column| cell(cells.fetch(column), reasons) }.join(" | ")} |\n"
      end
      text << "\n" unless reasons.empty?
      reasons.each_with_index { |reason, at| text << "#{at + 1}. #{reason}\n" }
      text
    end

    def cell(verdict, reasons)
      return WORDS[verdict.kind] unless verdict.why

      why = verdict.why[/.*?(?=; (on offer is|it was exported|a copy of \d)|\z)/m].gsub(/0x\h+/, "…").gsub(/\[[^\]]*\]/, "[…]")
      reasons << why unless reasons.include?(why)
      "#{WORDS[verdict.kind]} #{(reasons.index(why) + 1).digits.reverse.map { |digit| RAISED[digit] }.join}"
    end
  end
end
