# bash: source <(punctual completion bash)
# A word as it is typed, without its quotes: nothing of it is expanded or run. The quote that is still open is left in __punctual_quote.
__punctual_plain() {
  local rest=$1 c out=
  __punctual_quote=
  while [[ -n $rest ]]; do
    c=${rest:0:1} rest=${rest:1}
    case $__punctual_quote$c in
      \'\' | \"\") __punctual_quote= ;;
      \' | \") __punctual_quote=$c ;;
      \\ | \"\\)
        c=${rest:0:1}
        [[ -z $__punctual_quote || $c == [\"\$\`\\] ]] || out+=\\
        out+=$c rest=${rest:1} ;;
      *) out+=$c ;;
    esac
  done
  __punctual_word=$out
}
_punctual() {
  local IFS=$'\n' line word words=() __punctual_word __punctual_quote
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    __punctual_plain "$word"
    words+=("$__punctual_word")
  done
  __punctual_plain "${COMP_WORDS[COMP_CWORD]}"
  COMPREPLY=()
  while read -r line; do
    word=${line%%$'\t'*}
    case $__punctual_quote in # bash closes it
      \') word=${word//\'/\'\\\'\'} ;;
      \")
        word=${word//\\/\\\\} word=${word//\"/\\\"} word=${word//\$/\\\$} word=${word//\`/\\\`}
        word=${word//!/\"\\!\"} ;; # a backslash before it would stay
      *) printf -v word %q "$word" ;;
    esac
    COMPREPLY+=("$word")
  done < <(punctual complete --last="$__punctual_word" -- "${words[@]}" 2>/dev/null)
}
complete -o default -F _punctual punctual
