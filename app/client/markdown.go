package client

import (
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
	var groups []string
	for _, app := range p.NewGroups {
		groups = append(groups, fmt.Sprintf("+ executor %s\n", plain(app)))
	}
	order := slices.Clone(p.Jobs)
	slices.SortStableFunc(order, func(a, b planned) int { return cmp.Compare(urgency(b), urgency(a)) })
	jobs := make([]string, len(order))
	for i, j := range order {
		var lines strings.Builder
		j.print(&lines)
		jobs[i] = lines.String()
	}
	first, leftGroups := fitting(groups, maxMarkdown/4)
	then, leftJobs := fitting(jobs, maxMarkdown-len(first))
	if first+then != "" {
		fenced(out, "diff", first+then)
	}
	if leftGroups > 0 {
		fmt.Fprintf(out, "\n%s more, which `punctual diff` lists.\n", counted(leftGroups, "group of executors", "groups of executors"))
	}
	if leftJobs > 0 {
		fmt.Fprintf(out, "\n%s more, which `punctual diff` lists.\n", countedJobs(leftJobs))
	}
	for _, note := range p.notes() {
		fmt.Fprintf(out, "\n%s\n", note)
	}
}

// fitting are the texts that there is room for, and how many others there are.
func fitting(texts []string, room int) (fit string, left int) {
	var b strings.Builder
	for _, text := range texts {
		if b.Len()+len(text) > room {
			left++
			continue
		}
		b.WriteString(text)
	}
	return b.String(), left
}

// outcomes are what becomes of jobs that do not stay as they are, the harmless first.
var outcomes = []string{"create", "change", "delete", "refuse"}

// urgency is how much somebody who agrees to a plan should look at a job.
func urgency(j planned) int { return slices.Index(outcomes, j.Outcome) }

// failedMarkdown says why there is no plan. A comment without a word would be taken for a plan without a change.
func failedMarkdown(out io.Writer, err error, source, revision string) {
	title, text, left := "there is no plan", err.Error()+"\n", 0
	if refused, ok := errors.AsType[*RefusedError](err); ok && len(refused.Errors) > 0 {
		title = "the files cannot be read"
		lines := strings.SplitAfter(text, "\n")
		text, left = fitting(lines, maxMarkdown)
	} else if len(text) > maxMarkdown {
		text = strings.ToValidUTF8(text[:maxMarkdown], "") + "…\n"
	}
	fmt.Fprintf(out, "### Jobs: %s\n\n%s%s\n", title, code(source), at(revision))
	fenced(out, "", text)
	if left > 0 {
		fmt.Fprintf(out, "\n%s more, which `punctual diff` lists.\n", counted(left, "fault", "faults"))
	}
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
