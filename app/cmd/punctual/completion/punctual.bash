# bash: source <(punctual completion bash)
_punctual() {
  local IFS=$'\n' line word
  COMPREPLY=()
  while read -r line; do
    word=${line%%$'\t'*}
    printf -v word %q "$word"
    COMPREPLY+=("$word")
  done < <(punctual complete --last="${COMP_WORDS[COMP_CWORD]}" -- "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)
}
complete -o default -F _punctual punctual
