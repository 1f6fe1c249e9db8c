#compdef crossdock
# Completion of crossdock in zsh: put this file into a folder of $fpath, under the name _crossdock.
_crossdock() {
    local -a found
    found=("${(@f)$("$words[1]" complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n "$found[1]" ]]; then
        compadd -- "${found[@]}"
    else
        _files
    fi
}
compdef _crossdock crossdock
