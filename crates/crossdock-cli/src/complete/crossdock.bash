# Completion of crossdock in bash: source this file, or put it into bash-completion's folder.
_crossdock() {
    local line=${COMP_LINE:0:COMP_POINT} words current before reply
    read -ra words <<< "$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    current=${words[-1]}
    COMPREPLY=()
    while IFS= read -r reply; do
        # Where colons break words, only what follows the last one is replaced.
        if [[ $COMP_WORDBREAKS == *:* && $current == *:* ]]; then
            before=${current%"${current##*:}"}
            reply=${reply#"$before"}
        fi
        printf -v reply %q "$reply"
        COMPREPLY+=("$reply")
    done < <("${words[0]}" complete -- "${words[@]:1}" 2>/dev/null)
}
complete -o default -o nosort -F _crossdock crossdock
