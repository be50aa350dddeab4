package runstate

import (
	"html"
	"regexp"
	"slices"
	"strings"

	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
)

// Rows without an outcome and without events: those of an XXL-JOB admin, and of Punctual before it wrote them. All that they
// have beside their two codes is text, so the text is read, for nothing but the word and the lines that are shown.

// What the messages of ends by hand and of lost results begin or end with: those of an XXL-JOB admin in its three languages
// (docs/compat.md §3.9), of executors, and our own of before. What was passed over stands in a line of its own.
var (
	adoptedKilled = []string{"人为操作，主动终止", "人為操作，主動終止", "Manual operation, kill job", "killed by "}
	adoptedEnds   = []string{"[job running, killed]", "[job not executed, in the job queue, killed.]"}
	adoptedLost   = []string{"任务结果丢失，标记失败", "任務結果丟失，標記失敗", "Job result lost, marked as failure", "result lost"}
	adoptedPassed = []string{"result: skipped: ", "result: job stopped: "}
)

// adoptedState is where a run stands by its codes and its words.
func (r *Run) adoptedState() State {
	switch {
	case r.HandleCode == wire.CodeSuccess:
		return Success
	case r.HandleCode == wire.CodeTimeout:
		return Timeout
	case r.HandleCode != 0:
		for _, line := range Lines(r.HandleNote) {
			switch {
			case hasAny(line, adoptedKilled, strings.HasPrefix), hasAny(line, adoptedEnds, strings.HasSuffix):
				return Killed
			case hasAny(line, adoptedLost, strings.HasPrefix):
				return Lost
			}
		}
		return Failed
	case r.TriggerCode == 0:
		return Waiting
	case r.TriggerCode == wire.CodeSuccess:
		return Sent
	}
	for _, line := range Lines(r.TriggerNote) {
		switch {
		case hasAny(line, adoptedPassed, strings.HasPrefix):
			return Skipped
		case hasAny(strings.TrimPrefix(line, "result: "), adoptedKilled, strings.HasPrefix):
			return Killed
		}
	}
	return SendFailed
}

// ReportedBack says whether the end that a row has is what its executor reported. An admin that gives a run up, or ends one, writes a
// code of its own.
func (r *Run) ReportedBack() bool {
	switch {
	case r.HandleCode == 0:
		return false
	case r.HandleCode == wire.CodeSuccess:
		return true
	case r.Outcome != event.Open || len(r.Events) > 0:
		return r.Outcome != event.Killed && r.Outcome != event.Lost
	}
	return !slices.ContainsFunc(Lines(r.HandleNote), func(line string) bool {
		return hasAny(line, adoptedKilled, strings.HasPrefix) || hasAny(line, adoptedLost, strings.HasPrefix)
	})
}

func hasAny(line string, marks []string, has func(s, mark string) bool) bool {
	for _, m := range marks {
		if has(line, m) {
			return true
		}
	}
	return false
}

// An XXL-JOB admin notes of each run what it is about to do, a heading, and then what came of it, which ends with what was answered.
// A heading follows when the run is retried.
const (
	adoptedHeading = ">>>>>>>>>>>"
	adoptedAnswer  = "msg："
)

// adoptedReason is what an XXL-JOB admin noted of a run that it could not send.
func (r *Run) adoptedReason() string {
	lines := Lines(r.TriggerNote)
	for _, line := range slices.Backward(lines) {
		if reason, ok := strings.CutPrefix(line, "result: "); ok {
			return reason
		}
	}
	if begin := slices.IndexFunc(lines, isHeading); begin >= 0 {
		if reason := adoptedAnswered(slices.DeleteFunc(lines[begin:], isHeading)); reason != "" {
			return reason
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return lines[0]
}

func isHeading(line string) bool { return strings.HasPrefix(line, adoptedHeading) }

// adoptedAnswered is the last answer that says something, or the last line beside answers.
func adoptedAnswered(lines []string) (last string) {
	for _, line := range slices.Backward(lines) {
		answer, ok := strings.CutPrefix(line, adoptedAnswer)
		switch {
		case ok && answer != "" && answer != "null":
			return answer
		case !ok && last == "":
			last = line
		}
	}
	return last
}

var (
	lineBreak = regexp.MustCompile(`(?i)<(?:br|/p|/div|/li)\s*/?>`)
	anyTag    = regexp.MustCompile(`</?[a-zA-Z][^<>]*>`)
	hasTag    = regexp.MustCompile(`(?i)<(?:br|span|p|div)\b[^<>]*>`)
)

// Lines are the lines of a message that hold something. Only what has XXL-JOB's own tags is taken for HTML: a stack trace
// with generic types in it keeps its angle brackets. Whatever comes out is text, and is escaped where it is drawn.
func Lines(message string) []string {
	if hasTag.MatchString(message) {
		message = html.UnescapeString(anyTag.ReplaceAllString(lineBreak.ReplaceAllString(message, "\n"), ""))
		return linesOf(message, strings.TrimSpace)
	}
	return linesOf(message, func(line string) string { return strings.TrimRight(line, " \r") })
}

func linesOf(text string, trim func(string) string) []string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if line = trim(line); strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	return lines
}
