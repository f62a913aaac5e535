// Completion for bash.

extension Program {
  var bashCompletion: String {
    var cases: [String] = []
    for verb in verbs {
      let operandWords = verb.completedOperand?.kind.words ?? []
      let words =
        verb.options.flatMap(verb.offeredSpellings) + operandWords.filter { $0.hasPrefix("-") } + ["--help"]
      cases.append("    '\(verb.name)')")
      cases.append("      options=\(quoted(words.joined(separator: " ")))")
      if let kind = verb.completedOperand?.kind, let operands = kind.bashWords {
        cases.append("      operands=\(quoted(operands))\(kind.bashList)")
      }
      if let words = verb.wordsBeforeEntry {
        // '=' breaks words in bash: of '=a#' the last one is 'a#'.
        let numbered = words.filter { $0.hasSuffix("#") }.map { quoted(String($0.drop { $0 == "=" })) }
        let others = words.filter { !$0.hasSuffix("#") }.map { quoted($0) }
        cases.append("      case $previous in \(others.joined(separator: "|"))) values='<entry>' ;; esac")
        cases.append(
          "      case ${COMP_WORDS[index-2]} in \(numbered.joined(separator: "|"))) values='<entry>' ;; esac")
      }
      for option in verb.options {
        guard let value = option.value else { continue }
        let known = value.kind.bashWords ?? "<none>"
        let patterns = verb.offeredSpellings(option).joined(separator: "|")
        cases.append(
          "      case $previous in \(patterns)) values=\(quoted(known))\(value.kind.bashList) ;; esac")
      }
      cases.append("      ;;")
    }
    let groupCases = groups.map { group in
      "      \(quoted(group.name))) words=\(quoted(words(in: group).map(\.name).joined(separator: " "))) ;;"
    }
    return """
      # bash completion for \(name); 'source <(\(name) completion bash)' in ~/.bashrc switches it on.
      _\(name)_files() {
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$1")
      }
      # Offers words; where several may stand with commas between them, for the last of them.
      _\(name)_words() {
        local word=$2 before= index
        if [[ -n $list && $word == *,* ]]; then before=${word%,*}, word=${word##*,}; fi
        mapfile -t COMPREPLY < <(compgen -P "$before" -W "$1" -- "$word")
        for index in "${!COMPREPLY[@]}"; do
          if [[ ${COMPREPLY[index]} == *= ]]; then compopt -o nospace 2>/dev/null; fi
          # Bash replaces only what stands behind the last '='.
          COMPREPLY[index]=${COMPREPLY[index]#"$broken"}
        done
      }
      # Offers what \(name) itself knows of this machine: entries, whom they are about, mount points.
      _\(name)_asked() {
        local word=$2 quote= before= index
        case $word in
          [\\'\\"]*) word=${word:1} ;;
          # Bash replaces only what stands behind the last ':', unless the word began with a quote.
          *:*) before=${word%:*}: ;;
          # An entry has blanks in it.
          *) [[ $1 != entry ]] || quote='"' ;;
        esac
        mapfile -t COMPREPLY < <(\(name) completion "$1" "$word" 2>/dev/null)
        if [[ $1 == mounts ]]; then
          compopt -o filenames 2>/dev/null
          ((${#COMPREPLY[@]})) || _\(name)_files "$2"
          return
        fi
        compopt -o nospace 2>/dev/null
        for index in "${!COMPREPLY[@]}"; do
          COMPREPLY[index]=$quote${COMPREPLY[index]#"$before"}
          [[ -z $before ]] || COMPREPLY[index]=${COMPREPLY[index]%% *}
        done
      }
      _\(name)() {
        local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} whole broken=
        local verb=${COMP_WORDS[1]-} options= operands= values= list= words= topics= first=2 given=0 start=0
        local index=$COMP_CWORD
        COMPREPLY=()
        # '=' breaks words in bash: '--format=z' arrives as three, '-o ro,cache=s' as four.
        whole=$current
        # ':' does, too: 'user:bob' arrives as three.
        while ((index > 1)) && [[ ${COMP_WORDS[index]} == [=:] || ${COMP_WORDS[index-1]} == [=:] ]]; do
          index=$((index - 1)) whole=${COMP_WORDS[index]}$whole
        done
        if [[ $current == [=:] ]]; then current=; fi
        previous=${COMP_WORDS[index-1]} start=$index
        case $whole in
          --*=*) previous=${whole%%=*} whole=${whole#*=} ;;
          -*) ;;
          *=*) [[ $previous == -* ]] || whole=$current ;;
        esac
        broken=${whole%"$current"}
        if ((COMP_CWORD == 1)); then
          mapfile -t COMPREPLY < <(compgen -W \(quoted(openingWords.joined(separator: " "))) -- "$current")
          return
        fi
        if [[ $verb == help ]]; then
          if ((COMP_CWORD == 2)); then
            mapfile -t COMPREPLY < <(compgen -W \(quoted(firstWords.map(\.name).joined(separator: " "))) -- "$current")
            return
          fi
          topics=1 verb=${COMP_WORDS[2]} first=3
        fi
        # A group, which may be in another one.
        while ((first <= COMP_CWORD)); do
          case $verb in
      \(groupCases.joined(separator: "\n"))
            *) break ;;
          esac
          if ((COMP_CWORD == first)); then
            [[ -n $topics ]] || words="$words --help"
            mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
            return
          fi
          verb="$verb ${COMP_WORDS[first]}"
          first=$((first + 1))
        done
        if [[ -n $topics ]]; then return; fi
        case $verb in
      \(cases.joined(separator: "\n"))
        esac
        # Operands in front of the cursor; the words of a verb are for the first.
        for ((index = first; index < start; index++)); do
          [[ ${COMP_WORDS[index]} == -* ]] || given=$((given + 1))
        done
        if [[ $values == '<file>' ]]; then _\(name)_files "$current"
        elif [[ $values == '<none>' ]]; then :
        elif [[ $values == '<user>' ]]; then mapfile -t COMPREPLY < <(compgen -u -- "$current")
        elif [[ $values == '<'*'>' ]]; then values=${values#<} && _\(name)_asked "${values%>}" "$whole"
        elif [[ -n $values ]]; then _\(name)_words "$values" "$whole"
        elif [[ $current == -* ]]; then mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
        elif [[ $operands == '<mounts>' && $given -eq 0 ]]; then _\(name)_asked mounts "$current"
        elif [[ $operands == '<owner>' ]]; then
          if ((given)); then _\(name)_files "$current"
          # Of ':group=st' only 'st' is left here.
          elif [[ ${COMP_WORDS[COMP_CWORD]} == '=' || ${COMP_WORDS[COMP_CWORD-1]} == '=' ]]; then
            mapfile -t COMPREPLY < <(compgen -g -- "$current")
          else _\(name)_asked owner "$whole"
          fi
        elif [[ -n $operands && $given -eq 0 ]]; then broken=; _\(name)_words "$operands" "$current"
        else _\(name)_files "$current"
        fi
      }
      complete -F _\(name) \(name)

      """
  }
}
