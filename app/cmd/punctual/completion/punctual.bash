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
  local IFS=$'\n' line word words=() i gap rest=${COMP_LINE:0:COMP_POINT} last=-1 begun= __punctual_word __punctual_quote
  # bash takes a word apart at each : and the like (COMP_WORDBREAKS), and puts what is completed in the place of the last part alone. What begun
  # says is the word before that part.
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    gap=${rest%%"$word"*}
    [[ -n $word ]] || gap=${rest%%[![:space:]]*}
    [[ $rest != "$gap" || -z $word ]] && rest=${rest#"$gap$word"}
    ((i)) || continue
    __punctual_plain "$word"
    if [[ -n $COMP_LINE && -z $gap && $last -ge 0 && ($word == [:@]* || ${COMP_WORDS[i - 1]} == *[:@] || $word == =* && ${words[last]} != -* || ${COMP_WORDS[i - 1]} == = && ${words[last]} != =) ]]; then
      begun=${words[last]%@} # an @ belongs to the part behind it
      words[last]+=$__punctual_word
      [[ $word == [:=]* ]] && begun=${words[last]}
    else
      words[++last]=$__punctual_word begun=
      [[ $word == :* ]] && begun=$word
    fi
  done
  ((last >= 0)) || words[++last]=
  word=${words[last]}
  unset "words[last]"
  COMPREPLY=()
  while read -r line; do
    word=${line%%$'\t'*}
    word=${word#"$begun"}
    case $__punctual_quote in # bash closes it
      \') word=${word//\'/\'\\\'\'} ;;
      \")
        word=${word//\\/\\\\} word=${word//\"/\\\"} word=${word//\$/\\\$} word=${word//\`/\\\`}
        word=${word//!/\"\\!\"} ;; # a backslash before it would stay
      *) printf -v word %q "$word" ;;
    esac
    COMPREPLY+=("$word")
  done < <(punctual complete --last="$word" -- "${words[@]}" 2>/dev/null)
}
complete -o default -F _punctual punctual
