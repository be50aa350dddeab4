// Package note is what stands in the messages of runs: lines of "key: value" with fixed English keys, and sentences, so that
// what is stored is the same for everybody; people read it in their language. Messages that an XXL-JOB admin left in an
// adopted database are HTML and are read as the lines they would have had.
package note

import (
	"html"
	"regexp"
	"strconv"
	"strings"
)

var (
	lineBreak = regexp.MustCompile(`(?i)<(?:br|/p|/div|/li)\s*/?>`)
	anyTag    = regexp.MustCompile(`</?[a-zA-Z][^<>]*>`)
	hasTag    = regexp.MustCompile(`(?i)<(?:br|span|p|div)\b[^<>]*>`)
)

// Plain turns a message into lines of text. Only what holds upstream's own tags is taken for HTML: a stack trace with
// generic types in it keeps its angle brackets. Whatever comes out is text, and is escaped where it is drawn.
func Plain(message string) string {
	if !hasTag.MatchString(message) {
		return message
	}
	message = lineBreak.ReplaceAllString(message, "\n")
	message = html.UnescapeString(anyTag.ReplaceAllString(message, ""))
	lines := strings.Split(message, "\n")
	kept := lines[:0]
	for _, line := range lines {
		if line = strings.TrimSpace(line); line != "" {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

// Printer looks messages up in a language; [locales.Printer] is one.
type Printer interface {
	T(key string, args ...any) string
}

// Text is a message in a language.
func Text(p Printer, message string) string {
	return strings.Join(Translated(p, Lines(message)), "\n")
}

// Line is one line of a message. A line without a key that we write has none.
type Line struct{ Key, Value string }

// keys are the keys the scheduler writes, with the messages that translate them.
var keys = map[string]string{
	"trigger type": "note.trigger", "triggered by": "note.user", "origin": "note.origin", "admin": "note.admin", "planned": "note.planned", "claimed": "note.claimed", "routed": "note.routed",
	"late": "note.late", "taken over": "note.takenover", "found again": "note.foundagain", "address list": "note.addresses", "route strategy": "note.route",
	"shard": "note.shard", "asked": "note.asked", "block strategy": "note.block", "timeout": "note.timeout", "retries left": "note.retries",
	"address": "note.address", "sent": "note.sent", "result": "note.result", "retry": "note.retry", "child": "note.child",
}

// Lines cuts a message into its lines.
func Lines(message string) []Line {
	var list []Line
	for line := range strings.SplitSeq(Plain(message), "\n") {
		line = strings.TrimRight(line, " \r")
		if line == "" {
			continue
		}
		key, value, ok := strings.Cut(line, ": ")
		if _, known := keys[key]; ok && known {
			list = append(list, Line{key, value})
		} else {
			list = append(list, Line{"", line})
		}
	}
	return list
}

// Of is the value of the last line with a key, "" if there is none.
func Of(list []Line, key string) string {
	value := ""
	for _, n := range list {
		if n.Key == key {
			value = n.Value
		}
	}
	return value
}

// Translated are the lines of a message in a language.
func Translated(p Printer, list []Line) []string {
	lines := make([]string, len(list))
	for i, n := range list {
		if n.Key == "" {
			lines[i] = Said(p, n.Value)
			continue
		}
		lines[i] = p.T(keys[n.Key], "Value", Value(p, n))
	}
	return lines
}

// Value translates the values that are words of the field.
func Value(p Printer, n Line) string {
	prefix := ""
	switch n.Key {
	case "trigger type":
		prefix = "trigger."
	case "route strategy":
		prefix = "route."
	case "block strategy":
		prefix = "block."
	case "asked":
		address, answer, _ := strings.Cut(n.Value, " → ")
		return address + " → " + Said(p, answer)
	default:
		return Said(p, n.Value)
	}
	if text := p.T(prefix + n.Value); !strings.HasPrefix(text, "!") {
		return text
	}
	return n.Value
}

// followLine is how the scheduler notes a run that came of another.
var followLine = regexp.MustCompile(`(?m)^(?:retry|child): job \d+, run (\d+)$`)

// maxFollows bounds the followers shown; a broadcast child may have many.
const maxFollows = 50

// Followers are the ids of the runs that a message says came of it.
func Followers(message string) []int64 {
	var ids []int64
	for _, m := range followLine.FindAllStringSubmatch(message, maxFollows) {
		if id, err := strconv.ParseInt(m[1], 10, 64); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}
