package runs

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// Level is how grave a line of output says it is. It colours the line and sorts it, and decides nothing.
type Level string

// The levels; empty for a line that says none. They are classes of the style sheet.
const (
	LevelError Level = "e"
	LevelWarn  Level = "w"
	LevelInfo  Level = "i"
	LevelDebug Level = "d"
)

// levels are the words of loggers.
var levels = map[string]Level{
	"FATAL": LevelError, "SEVERE": LevelError, "CRITICAL": LevelError, "ERROR": LevelError, "PANIC": LevelError, "EMERG": LevelError,
	"WARN": LevelWarn, "WARNING": LevelWarn, "INFO": LevelInfo, "NOTICE": LevelInfo,
	"DEBUG": LevelDebug, "TRACE": LevelDebug, "FINE": LevelDebug, "FINER": LevelDebug, "FINEST": LevelDebug, "VERBOSE": LevelDebug,
}

// levelReach is how far into a line its level is looked for: behind a time, a thread, and the name of what logs.
const levelReach = 200

// ownLevel is the first word of a level, which loggers write large, or what stands behind "level".
func ownLevel(line string) Level {
	line = line[:min(len(line), levelReach)]
	for i := 0; i < len(line); {
		if !isLetter(line[i]) {
			i++
			continue
		}
		end := i
		for end < len(line) && isLetter(line[end]) {
			end++
		}
		word := line[i:end]
		if l, ok := levels[word]; ok {
			return l
		}
		if strings.EqualFold(word, "level") || word == "lvl" {
			if l := namedLevel(line[end:]); l != "" {
				return l
			}
		}
		i = end
	}
	return ""
}

// namedLevel reads ="error" and : "warn".
func namedLevel(rest string) Level {
	rest = strings.TrimLeft(rest, `"'=: `)
	end := 0
	for end < len(rest) && isLetter(rest[end]) {
		end++
	}
	return levels[strings.ToUpper(rest[:end])]
}

func isLetter(b byte) bool { return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' }

// continues says whether a line belongs to the one before it, as those of a stack trace do.
func continues(line string) bool {
	return strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "Caused by: ") || strings.HasPrefix(line, "Suppressed: ")
}

// levelsOf gives each line its level; one that continues another has the other's. before is the level of what stands above.
func levelsOf(lines []string, before Level) []Level {
	list := make([]Level, len(lines))
	for i, line := range lines {
		line = bare(line)
		switch {
		case continues(line):
		case thrown.MatchString(beginning(line)) || strings.HasPrefix(line, "Traceback ("):
			before = LevelError
		default:
			before = ownLevel(line)
		}
		list[i] = before
	}
	return list
}

// LastLevel is the level that lines after these go on with.
func LastLevel(lines []string, before Level) Level {
	if len(lines) == 0 {
		return before
	}
	return levelsOf(lines, before)[len(lines)-1]
}

// Cause is the line of output that most likely says why a run failed.
type Cause struct {
	Line int // its number; 0: none was found
	Text string
	// Trace says that a stack trace begins there, and not only a line that calls itself an error.
	Trace bool
}

// thrown is the head of a trace: an error by the name of its class. uncaught begins what runtimes say of one that nobody caught.
var (
	thrown   = regexp.MustCompile(`^(?:Exception in thread "[^"]*" |Uncaught )?(?:[A-Za-z_$][\w$]*\.)*[A-Za-z_$][\w$]*(?:Exception|Error|Throwable|Interrupt|Exit)(?::|$| \[)`)
	uncaught = regexp.MustCompile(`^(?:panic: |fatal error: |PHP Fatal error: |Fatal error: )`)
)

// maxCause bounds the text of a cause, in bytes.
const maxCause = 400

// CauseOf finds the cause in lines of output, of which the first has a number: the head of the last trace, which is what ended the
// run, or else the last line that calls itself an error.
func CauseOf(lines []string, first int) Cause {
	var trace, said Cause
	python := false
	for i, line := range lines {
		line = bare(line)
		switch {
		case strings.HasPrefix(line, "Traceback ("):
			python = true
			continue
		case continues(line) || line == "":
			continue
		case python, thrown.MatchString(beginning(line)), uncaught.MatchString(line):
			trace = Cause{Line: first + i, Text: cut(line), Trace: true}
		case ownLevel(line) == LevelError:
			said = Cause{Line: first + i, Text: cut(line)}
		}
		python = false
	}
	if trace.Line > 0 {
		return trace
	}
	return said
}

// bare is a line without the codes for its colours.
func bare(line string) string {
	if strings.IndexByte(line, 0x1b) < 0 {
		return line
	}
	return escapes.ReplaceAllString(line, "")
}

// beginning is the part of a line in which the name of an error stands.
func beginning(line string) string { return line[:min(len(line), levelReach)] }

func cut(line string) string {
	if len(line) > maxCause {
		end := maxCause
		for end > 0 && !utf8.RuneStart(line[end]) {
			end--
		}
		line = line[:end] + "…"
	}
	return visible(strings.TrimSpace(line))
}
