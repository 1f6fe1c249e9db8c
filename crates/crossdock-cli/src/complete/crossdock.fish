# Completion of crossdock in fish: put this file into ~/.config/fish/completions.
function __crossdock_complete
    set -l words (commandline --tokenize --cut-at-cursor --current-process)
    set -l current (commandline --current-token)
    set -l found (crossdock complete -- $words[2..-1] $current 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path $current
    end
end
complete --command crossdock --no-files --arguments '(__crossdock_complete)'
