# fish: punctual completion fish | source
function __punctual_complete
    set -l words (commandline -opc)
    set -l found (punctual complete --last=(commandline -ct | string unescape | string collect -a) -- $words[2..-1] 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c punctual -f -a '(__punctual_complete)'
