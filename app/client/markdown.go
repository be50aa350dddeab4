package client

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// maxMarkdown is how many bytes of jobs a plan in Markdown has: GitHub takes comments of 65,536 characters.
const maxMarkdown = 60_000

// markdown says what would be done as a comment of a pull or merge request has it: what somebody should look at comes first. What others wrote stands
// in a block of code, so that it names nobody and draws nothing.
func (p plan) markdown(out io.Writer, source, revision string) {
	words := map[string]string{"create": "to create", "change": "to change", "delete": "to delete", "refuse": "refused"}
	if p.Done {
		words = map[string]string{"create": "created", "change": "changed", "delete": "deleted", "refuse": "refused"}
	}
	var parts []string
	for _, outcome := range outcomes {
		if n := p.count(outcome); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, words[outcome]))
		}
	}
	fmt.Fprintf(out, "### Jobs: %s\n\n%s%s. As they are: %d.\n", cmp.Or(strings.Join(parts, ", "), "nothing changes"), code(source), at(revision), p.count("same"))
	if p.count("refuse") > 0 {
		fmt.Fprintln(out, "While a job is refused, none of this is done.")
	}
	var lines bytes.Buffer
	for _, app := range p.NewGroups {
		fmt.Fprintf(&lines, "+ executor %s\n", plain(app))
	}
	order := slices.Clone(p.Jobs)
	slices.SortStableFunc(order, func(a, b planned) int { return cmp.Compare(urgency(b), urgency(a)) })
	left := 0
	for _, j := range order {
		before := lines.Len()
		if j.print(&lines); lines.Len() > maxMarkdown {
			lines.Truncate(before)
			left++
		}
	}
	if lines.Len() > 0 {
		fenced(out, "diff", lines.String())
	}
	if left > 0 {
		fmt.Fprintf(out, "\n%s more, which `punctual diff` lists.\n", counted(left))
	}
	for _, note := range p.notes() {
		fmt.Fprintf(out, "\n%s\n", note)
	}
}

// outcomes are what becomes of jobs that do not stay as they are, the harmless first.
var outcomes = []string{"create", "change", "delete", "refuse"}

// urgency is how much somebody who agrees to a plan should look at a job.
func urgency(j planned) int { return slices.Index(outcomes, j.Outcome) }

// refusedMarkdown says of files that are not understood what is wrong with them.
func refusedMarkdown(out io.Writer, err error, source, revision string) {
	refused, ok := errors.AsType[*RefusedError](err)
	if !ok || len(refused.Errors) == 0 {
		return
	}
	fmt.Fprintf(out, "### Jobs: the files cannot be read\n\n%s%s\n", code(source), at(revision))
	fenced(out, "", refused.Error()+"\n")
}

func at(revision string) string {
	if revision == "" {
		return ""
	}
	return " at " + code(revision)
}

// code is a text that somebody wrote, as code within a line.
func code(text string) string {
	n := backticks(text)
	if n == 0 {
		return "`" + plain(text) + "`"
	}
	fence := strings.Repeat("`", n+1)
	return fence + " " + plain(text) + " " + fence
}

// fenced is a block of code that the text does not end.
func fenced(out io.Writer, language, text string) {
	fence := strings.Repeat("`", max(3, backticks(text)+1))
	fmt.Fprintf(out, "\n%s%s\n%s%s\n", fence, language, text, fence)
}

// backticks is how many stand in a row, at most.
func backticks(text string) (most int) {
	for run := range strings.FieldsFuncSeq(text, func(r rune) bool { return r != '`' }) {
		most = max(most, len(run))
	}
	return most
}
