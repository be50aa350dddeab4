#compdef punctual
# zsh: source <(punctual completion zsh), after compinit; or as a file _punctual in a folder of $fpath
_punctual() {
  local line last=${(Q)words[CURRENT]}
  local -a values shown
  [[ $last == [\'\"]* ]] && last=${last#?} # a quote that is still open
  for line in "${(@f)$(punctual complete --last="$last" -- "${(@Q)words[2,CURRENT-1]}" 2>/dev/null)}"; do
    [[ -n $line ]] || continue
    values+=("${line%%$'\t'*}")
    if [[ $line == *$'\t'* ]]; then shown+=("${line%%$'\t'*}  ${line#*$'\t'}"); else shown+=("$line"); fi
  done
  if (( $#values )); then compadd -l -d shown -- "${values[@]}"; else _files; fi
}
if [[ $funcstack[1] == _punctual ]]; then _punctual "$@"; else compdef _punctual punctual; fi
