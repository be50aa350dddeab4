package console

import (
	"html"
	"regexp"
	"strconv"
	"strings"

	"github.com/punctual-job/punctual/locales"
)

// Messages of the scheduler are lines of "key: value" with fixed English keys, which are shown in the reader's language.
// Messages that an XXL-JOB admin left in an adopted database are HTML; they are shown as the lines they would have had.

var (
	lineBreak = regexp.MustCompile(`(?i)<(?:br|/p|/div|/li)\s*/?>`)
	anyTag    = regexp.MustCompile(`</?[a-zA-Z][^<>]*>`)
	hasTag    = regexp.MustCompile(`(?i)<(?:br|span|p|div)\b[^<>]*>`)
)

// plainText turns a message into lines of text. Only what holds upstream's own tags is taken for HTML: a stack trace with
// generic types in it keeps its angle brackets. Whatever comes out is text, and is escaped where it is drawn.
func plainText(message string) string {
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

// note is one line of a message. A line without a key that we write has none.
type note struct{ key, value string }

// noteKeys are the keys the scheduler writes, with the messages that translate them.
var noteKeys = map[string]string{
	"trigger type": "note.trigger", "triggered by": "note.user", "origin": "note.origin", "admin": "note.admin", "planned": "note.planned",
	"late": "note.late", "taken over": "note.takenover", "found again": "note.foundagain", "address list": "note.addresses", "route strategy": "note.route",
	"shard": "note.shard", "asked": "note.asked", "block strategy": "note.block", "timeout": "note.timeout", "retries left": "note.retries",
	"address": "note.address", "sent": "note.sent", "result": "note.result", "retry": "note.retry", "child": "note.child",
}

// notes cuts a message into its lines.
func notes(message string) []note {
	var list []note
	for line := range strings.SplitSeq(plainText(message), "\n") {
		line = strings.TrimRight(line, " \r")
		if line == "" {
			continue
		}
		key, value, ok := strings.Cut(line, ": ")
		if _, known := noteKeys[key]; ok && known {
			list = append(list, note{key, value})
		} else {
			list = append(list, note{"", line})
		}
	}
	return list
}

// noteOf is the value of the last line with a key, "" if there is none.
func noteOf(list []note, key string) string {
	value := ""
	for _, n := range list {
		if n.key == key {
			value = n.value
		}
	}
	return value
}

// noteLines are the lines of a message in a language.
func noteLines(p *locales.Printer, list []note) []string {
	lines := make([]string, len(list))
	for i, n := range list {
		if n.key == "" {
			lines[i] = said(p, n.value)
			continue
		}
		lines[i] = p.T(noteKeys[n.key], "Value", noteValue(p, n))
	}
	return lines
}

// noteValue translates the values that are words of the field.
func noteValue(p *locales.Printer, n note) string {
	prefix := ""
	switch n.key {
	case "trigger type":
		prefix = "trigger."
	case "route strategy":
		prefix = "route."
	case "block strategy":
		prefix = "block."
	case "asked":
		address, answer, _ := strings.Cut(n.value, " → ")
		return address + " → " + said(p, answer)
	default:
		return said(p, n.value)
	}
	if text := p.T(prefix + n.value); !strings.HasPrefix(text, "!") {
		return text
	}
	return n.value
}

// followLine is how the scheduler notes a run that came of another.
var followLine = regexp.MustCompile(`(?m)^(?:retry|child): job \d+, run (\d+)$`)

// maxFollows bounds the followers shown; a broadcast child may have many.
const maxFollows = 50

// followers are the ids of the runs that a message says came of it.
func followers(message string) []int64 {
	var ids []int64
	for _, m := range followLine.FindAllStringSubmatch(message, maxFollows) {
		if id, err := strconv.ParseInt(m[1], 10, 64); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}
